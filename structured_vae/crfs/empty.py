"""The answer of a conditional random field to a batch without instances."""

from __future__ import annotations

import torch

from solvers import Solution

from ..spaces.checks.batches import positive_integer


def empty_solution(
    n: int, scores: torch.Tensor, k_best: int | None = None
) -> Solution[torch.Tensor]:
    """Return the solution of no instances.

    Args:
        n: the number of variables.
        scores: a tensor on the device of the result.
        k_best: the number of assignments of each instance; None for one, without a dimension.

    Raises:
        StructureError: `k_best` is not a positive integer.
    """
    shape: tuple[int, ...] = (0,)
    if k_best is not None:
        shape = (0, positive_integer(k_best, "k_best"))
    values = scores.new_zeros(shape, dtype=torch.float64)
    tags = scores.new_zeros((*shape, n), dtype=torch.long)
    proved = scores.new_ones(shape, dtype=torch.bool)
    return Solution(tags, values, proved, values.clone(), "elimination", {})
