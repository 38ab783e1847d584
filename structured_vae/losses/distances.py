"""Distances of states to a target."""

from __future__ import annotations

import torch

from ..errors import ConfigError, shortened
from ..spaces.checks.batches import check_dense


def distance_slope(y: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Return the change of the weighted Hamming distance to y when a bit goes from 0 to 1.

    Args:
        y: the target, `[batch, n]`.
        weights: `[n]`, or a shape that broadcasts to `[batch, n]`; None for ones.

    Returns:
        `[batch, n]`.

    Raises:
        ConfigError: the weights have another shape.
    """
    slope = 1 - 2 * y
    if weights is None:
        return slope
    fits = weights.ndim <= y.ndim and all(
        size in (1, wanted)
        for size, wanted in zip(weights.shape[::-1], y.shape[::-1], strict=False)
    )
    if not fits:
        raise ConfigError(
            f"weights must be [{y.shape[-1]}], or broadcast to {list(y.shape)}; "
            f"got {list(weights.shape)}"
        )
    return weights.to(y) * slope


def squared_differences(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return sum_i (z_i - y_i)^2 for states and targets `[..., batch, n]`: `[..., batch]`."""
    return (z - y).square().sum(dim=-1)


def distance_weights(weights: torch.Tensor | None) -> torch.Tensor | None:
    """Return the weights of a distance as they are, once they are checked.

    Raises:
        ConfigError: they are no tensor, or one of them is negative or not finite.
    """
    if weights is None:
        return None
    if isinstance(weights, torch.Tensor):
        check_dense(weights, "weights", ConfigError)
        if not weights.is_complex() and bool(((weights >= 0) & weights.isfinite()).all()):
            return weights
    raise ConfigError(
        f"weights must be a tensor of finite numbers, none negative; got {shortened(weights)}"
    )
