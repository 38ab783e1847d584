"""Scores of all assignments of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..problem import LabelProblem

if TYPE_CHECKING:
    from jaxtyping import Float


def all_scores(problem: LabelProblem, instance: int) -> Float[np.ndarray, "states"]:
    """Return the scores `[states]` of all assignments, float64; the last variable varies first.

    Args:
        problem: a problem on the host.
        instance: the number of the instance in the batch.
    """
    single = problem.instances(slice(instance, instance + 1))
    free = np.flatnonzero(
        problem.sizes > 1
    )  # numpy has at most 64 axes, and variables of one value need none
    axis = {int(i): place for place, i in enumerate(free)}
    # One axis per free variable: broadcasting adds a table to all states that it concerns.
    total = np.zeros([int(problem.sizes[i]) for i in free])
    for i in range(problem.n):
        total += _spread(single.unary[0, i, : problem.sizes[i]], [axis.get(i)], total.ndim)
    for edge, (i, j) in enumerate(problem.topology.pairs.tolist()):
        total += _spread(single.pairwise(edge)[0], [axis.get(i), axis.get(j)], total.ndim)
    return total.ravel()


def _spread(scores: np.ndarray, axes: list[int | None], dimensions: int) -> np.ndarray:
    """Reshape the scores of ascending variables along their axes of the table of all variables."""
    shape = [1] * dimensions
    for axis, size in zip(axes, scores.shape, strict=True):
        if axis is not None:
            shape[axis] = size
    return np.asarray(scores, np.float64).reshape(shape)
