"""The answer of a conditional random field to a batch without instances."""

from __future__ import annotations

import torch

from solvers import Solution


def empty_solution(n: int, scores: torch.Tensor) -> Solution[torch.Tensor]:
    """Return the solution of no instances of n variables, on the device of the scores."""
    values = scores.new_zeros(0, dtype=torch.float64)
    tags = scores.new_zeros((0, n), dtype=torch.long)
    proved = scores.new_ones(0, dtype=torch.bool)
    return Solution(tags, values, proved, values.clone(), "elimination", {})
