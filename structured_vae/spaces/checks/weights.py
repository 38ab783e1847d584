"""Check the weights of instances, classes or variables."""

from __future__ import annotations

import torch

from models.traced import holds

from ...errors import ConfigError, shortened


def checked_weights(
    weights: torch.Tensor, shape: torch.Size | tuple[int, ...], name: str
) -> torch.Tensor:
    """Return weights of that shape, finite and not negative.

    Compiled code checks the shape only.

    Args:
        weights: what a caller passed.
        shape: the shape that it must have.
        name: name of the argument, for messages.

    Raises:
        ConfigError: the weights have another shape, or one of them is out of range.
    """
    if not isinstance(weights, torch.Tensor) or weights.shape != torch.Size(shape):
        received = shortened(weights)
        if isinstance(weights, torch.Tensor):
            received = str(list(weights.shape))
        raise ConfigError(f"{name} must be a tensor {list(shape)}; got {received}")
    if not holds((weights >= 0) & weights.isfinite()):
        raise ConfigError(f"{name} must be finite, and none negative; got {shortened(weights)}")
    return weights
