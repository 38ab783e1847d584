"""The dynamic programme over variables and the total weight of those that are one.

table[i][c] is the best score, or the logarithm of the sum of exp(score), of the first i variables
with total weight c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import torch

from ...errors import StructureError, shortened
from ..checks.batches import UNREACHABLE

LARGEST: Final = 2**28
"""Most numbers in the tables of a batch: 2 GiB."""

Weights: TypeAlias = Sequence[int] | torch.Tensor
"""The weight of each variable: n integers, or `[n, batch]` where instances differ."""

Combine = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def tables(
    scores: torch.Tensor, weights: Weights, capacity: int, combine: Combine
) -> list[torch.Tensor]:
    """Return n + 1 tables `[batch, capacity + 1]` of scores `[batch, n]`.

    Args:
        scores: float64.
        weights: of the variables, at least 0.
        capacity: the largest total weight.
        combine: how two tables become one: `torch.maximum` or `log_add`.

    Raises:
        StructureError: the tables would take more than 2 GiB.
    """
    size = (len(weights) + 1) * len(scores) * (capacity + 1)
    if size > LARGEST:
        raise StructureError(
            f"{len(scores)} instances of {len(weights)} variables and a capacity of "
            f"{shortened(capacity)} take {shortened(8 * size)} bytes, more than 2 GiB: "
            "divide weights and capacity by a number, or the batch"
        )
    # Only the empty set, of total weight 0, is reached without any variable.
    start = scores.new_full((len(scores), capacity + 1), UNREACHABLE)
    start[:, 0] = 0
    result = [start]
    for score, weight in zip(scores.unbind(dim=1), weights, strict=True):
        without = result[-1]
        result.append(combine(without, _moved(without, weight) + score[:, None]))
    return result


def _moved(table: torch.Tensor, weight: int | torch.Tensor) -> torch.Tensor:
    """Return the table `[batch, capacity + 1]` before a variable of that weight became one."""
    if isinstance(weight, torch.Tensor):
        before = torch.arange(table.shape[-1], device=table.device) - weight[:, None]
        moved = table.gather(-1, before.clamp_min(0))
        return moved.masked_fill(before < 0, UNREACHABLE)
    width = table.shape[-1]
    out = table.new_full((*table.shape[:-1], min(weight, width)), UNREACHABLE)
    return torch.cat([out, table[..., : max(width - weight, 0)]], dim=-1)


def trace(
    table: list[torch.Tensor],
    scores: torch.Tensor,
    weights: Weights,
    total: torch.Tensor,
    noise: torch.Tensor,
) -> torch.Tensor:
    """Return states `[samples, batch, n]` that have these total weights.

    They are traced from the last variable back to the first.

    Tables of maxima without noise give the argmax; tables of sums with `gumbel_differences` give
    exact samples.

    Args:
        table: the tables of these scores.
        scores: `[batch, n]`.
        weights: of the variables.
        total: `[samples, batch]`, the total weight of the states.
        noise: `[n, samples, batch]`, added to the advantage of a one.
    """
    rows = torch.arange(len(scores), device=scores.device).expand_as(total)
    z = scores.new_zeros((*total.shape, len(weights)))
    for i in reversed(range(len(weights))):
        before = total - weights[i]
        with_it = table[i][rows, before.clamp_min(0)] + scores[:, i]
        advantage = with_it - table[i][rows, total]
        # Equal totals differ by this variable alone: it
        # is 1 if that gains, and if the rest has a state.
        one = (before >= 0) & (advantage + noise[i] > 0) & (with_it > UNREACHABLE / 2)
        z[..., i] = one.to(z)
        total = torch.where(one, before, total)
    return z
