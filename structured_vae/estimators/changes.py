"""Changes of a cost by one variable, from states that were decoded for it."""

from __future__ import annotations

import torch

from ..objectives.costs import Cost


@torch.no_grad()
def changes_of(
    cost: Cost, z: torch.Tensor, costs: torch.Tensor, variables: torch.Tensor, moved: torch.Tensor
) -> torch.Tensor:
    """`[samples, batch, m]`: the cost with z_v = 1 less that with z_v = 0, for some variables v of each state.

    Args:
        cost: of states.
        z: `[samples, batch, n]`, bits.
        costs: `[samples, batch]`, at these.
        variables: `[samples, batch, m]`.
        moved: `[m, samples, batch, n]`, the states with the other value of z_v.
    """
    changes: torch.Tensor = cost(moved).movedim(0, -1) - costs[..., None]
    return changes * (1 - 2 * z.gather(-1, variables))
