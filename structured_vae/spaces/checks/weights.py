"""Check the weights of instances, classes or variables."""

from __future__ import annotations

import torch

from models.traced import holds

from ...errors import ConfigError, shortened
from .batches import check_dense


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
    check_dense(weights, name, ConfigError)
    if not holds((weights >= 0) & weights.isfinite()):
        raise ConfigError(f"{name} must be finite, and none negative; got {shortened(weights)}")
    return weights


def weights_of_bits(
    class_weight: torch.Tensor, target: torch.Tensor, forbidden: torch.Tensor | None
) -> torch.Tensor:
    """Return the mean weight `[...]` of the target bits of each instance.

    Args:
        class_weight: `[2]`, the weights of 0 and 1.
        target: `[..., n]`, zeros and ones.
        forbidden: boolean `[..., n]`, True where a variable must be 0 and does not count; None
            where all count. An instance without variables that count has weight 0.

    Raises:
        ConfigError: the weights have another shape, or one of them is out of range.
    """
    checked = checked_weights(class_weight, (2,), "class_weight")
    off, on = checked.to(target)
    weights: torch.Tensor = off + (on - off) * target
    counted = torch.ones_like(target, dtype=torch.bool)
    if forbidden is not None:
        counted = ~forbidden
    sums: torch.Tensor = (weights * counted).sum(dim=-1)
    # An instance whose bits are all forbidden has the weight 0, not NaN.
    return sums / counted.sum(dim=-1).clamp_min(1)
