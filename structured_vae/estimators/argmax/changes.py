"""Compute the changes of a cost by one variable, from states that were decoded for it."""

from __future__ import annotations

import torch

from ...objectives.costs import Cost


@torch.no_grad()
def changes_of(
    cost: Cost, z: torch.Tensor, costs: torch.Tensor, variables: torch.Tensor, moved: torch.Tensor
) -> torch.Tensor:
    """Return the cost with z_v = 1 less that with z_v = 0 `[samples, batch, m]`, for variables v.

    Args:
        cost: the cost of states.
        z: `[samples, batch, n]`, bits.
        costs: `[samples, batch]`, the cost at z.
        variables: `[samples, batch, m]`.
        moved: `[m, samples, batch, n]`, the states with the other value of z_v.
    """
    changes: torch.Tensor = cost(moved).movedim(0, -1) - costs[..., None]
    return changes * (1 - 2 * z.gather(-1, variables))


def usable_slope(slope: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return finite slopes, and a factor that is nan where slopes were not finite.

    A loss scale that is too large makes slopes that are not finite. Their states stay where they
    are, and their gradients become nan, by which a gradient scaler recognises them.

    Args:
        slope: `[..., n]`.

    Returns:
        The slopes, all zero for a state with a slope that is not finite; and `[...]`, nan for such
        states and 1 for others.
    """
    finite = slope.isfinite().all(dim=-1)
    mark = torch.where(finite, 1.0, torch.nan).to(slope.dtype)
    return torch.where(finite[..., None], slope, 0.0), mark
