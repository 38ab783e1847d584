"""The derivative of marginals along a direction, and of conditionals of samples, by either method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.elimination.plan import cached_plan
from ..arrays import ArrayT, as_array, to_numpy
from ..errors import ProblemError
from ..problem import Problem
from . import enumeration_derivative, sum_product_completions, sum_product_derivative
from .enumeration import RunningSums
from .samples import Drawn


def derivative(
    problem: Problem[ArrayT],
    sums: RunningSums | None,
    marginals: np.ndarray,
    drawn: Drawn | None,
    direction: np.ndarray | None,
    threads: int | None,
) -> tuple[ArrayT, ArrayT]:
    """`[batch, n]` and `[batch, e]`: that of direction . marginals and of the sum of changes * P(z_v = 1 | before).

    Args:
        problem: on the host, with whose leading dimensions.
        sums: what enumeration has kept; None for elimination.
        marginals: `[batch, n + e]`.
        drawn: samples and their changes; None for none.
        direction: `[batch, n + e]`, finite; None for zeros.
        threads: most threads to use; None for all cores.
    """
    # Only ratios matter to rounding and overflow.
    parts = [
        part for part in (direction, None if drawn is None else drawn.changes) if part is not None
    ]
    largest = [np.abs(part).reshape(problem.batch, -1).max(axis=1, initial=0.0) for part in parts]
    scale = np.maximum(np.max(largest, axis=0), np.finfo(np.float64).tiny)[:, None]
    if drawn is not None:
        drawn = drawn._replace(changes=np.ascontiguousarray(drawn.changes / scale[..., None]))
    if direction is not None:
        direction = direction / scale
    if sums is None:
        found = _by_elimination(problem, drawn, direction, threads)
    else:
        along = np.zeros(marginals.shape) if direction is None else direction
        means = np.sum(marginals * along, axis=1)
        found = enumeration_derivative.derivative(
            sums, problem.edges, drawn or _nothing(problem), along, means, threads
        )
    found *= scale
    return problem.restore(found[:, : problem.n]), problem.restore(found[:, problem.n :])


def _by_elimination(
    problem: Problem, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
) -> np.ndarray:
    """`[batch, n + e]`."""
    plan = problem.topology.recall(cached_plan)
    scores, found = (
        (problem.unary, problem.pairwise),
        np.zeros((problem.batch, problem.n + problem.e)),
    )
    if direction is not None:
        found += sum_product_derivative.covariance_product(plan, *scores, direction, threads)
    if drawn is not None:
        found += sum_product_completions.derivative(plan, *scores, drawn, threads)
    return found


def _nothing(problem: Problem) -> Drawn:
    """No samples."""
    chosen = np.empty((problem.batch, 0, 0), np.int64)
    return Drawn(np.empty((problem.batch, 0, problem.n), np.int8), chosen, np.empty(chosen.shape))


def checked_direction(problem: Problem, unary: Any, pairwise: Any) -> np.ndarray:
    """`[batch, n + e]`.

    Raises:
        ProblemError: a part does not broadcast to its shape or is not finite.
    """
    given = {
        "unary": (unary, problem.n),
        "pairwise": (0.0 if pairwise is None else pairwise, problem.e),
    }
    parts = []
    for name, (values, size) in given.items():
        array, shape = to_numpy(as_array(values, name)), (*problem.leading, size)
        if array.dtype.kind not in "biuf":
            raise ProblemError(
                f"the {name} direction must be real numbers; its type is {array.dtype}"
            )
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise ProblemError(f"the {name} direction must be finite")
        try:
            parts.append(np.broadcast_to(array, shape).reshape(problem.batch, size))
        except ValueError as error:
            raise ProblemError(
                f"the {name} direction must be {shape}; its shape is {array.shape}"
            ) from error
    return np.concatenate(parts, axis=1)
