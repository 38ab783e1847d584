"""Fix variables and bound the score by roof duality: one minimum cut, two nodes per variable.

With x_i = z_i and y_i = 1 - z_i, twice the score of z is

    F(x, y) = sum_i unary_i (1 + x_i - y_i)
            + sum_(w > 0) w (1 - y_i - y_j + x_i x_j + y_i y_j)
            + sum_(w < 0) w (x_i + x_j - x_i y_j - y_i x_j),

which is supermodular in (x, y). Its maximum over all (x, y) is twice the roof-dual bound. Where
every maximiser of F has x_i = 1, y_i = 0 (or 0, 1), every maximiser of the score has z_i = 1 (or
0): strong persistency.

References:
    Hammer, Hansen, Simeone (1984), Roof duality, complementation and persistency in quadratic 0-1
    optimization.
    Boros, Hammer (2002), Pseudo-Boolean optimization.
    Rother, Kolmogorov, Lempitsky, Szummer (2007), Optimizing binary MRFs via extended roof duality.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Scores, States
from ...compiled._kernels import presolve as kernels
from ...compiled.plain import plain
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ..max_flow.sparse import sparse_argmax
from ..precision.fixed_point import FixedPoint

if TYPE_CHECKING:
    from jaxtyping import Float, Int

CAPACITIES_A_CALL = 2**24
"""Capacities of the doubled graphs that are built at a time: 128 MiB."""

SHARE = 1 / 3
"""Maximum share of the remaining time."""

QUICK = 0.02
"""Seconds of work that are done even after the deadline."""

NANOSECONDS = 500
"""Approximate time per variable or edge to build the doubled graph and find its flow."""


@dataclass(frozen=True, eq=False)
class RoofDuality:
    """Variables that roof duality fixes, and its bounds.

    Attributes:
        fixed: `[batch, n]`: 0 or 1 where every maximiser has this value, else -1. This holds for
            the maximisers of the scores in fixed point. Their rounding moves a score by less than
            `Problem.rounding`, and by nothing where 54 bits hold the scores of an instance.
        bound: `[batch]`, upper bounds on the scores.
        loss: `[batch]`, by how much the maximum may exceed the best score with the fixed values.
    """

    fixed: Int[np.ndarray, "batch n"]
    bound: Float[np.ndarray, "batch"]
    loss: Float[np.ndarray, "batch"]

    @classmethod
    def free(cls, problem: Problem) -> RoofDuality:
        """Return the result that fixes no variable, with the bound of `halved`."""
        fixed = np.full((problem.batch, problem.n), -1, np.int8)
        return cls(fixed, halved(problem)[1], np.zeros(problem.batch))


def roof_duality(problem: Problem, deadline: Deadline | None = None) -> RoofDuality:
    """Fix variables by roof duality, and return its bound, by maximum flow in integers.

    Args:
        problem: a problem with scores of any sign, coefficients on the host.
        deadline: the deadline, of which roof duality may take a third; None for no limit. A flow
            that is cut short fixes nothing, and its bound is higher.

    Example:
        >>> problem = Problem.from_arrays([4.0, -1.0, 1.0], [-2.0, 1.0], edges=[[0, 1], [1, 2]])
        >>> roof = roof_duality(problem)
        >>> roof.fixed.tolist(), roof.bound.tolist()
        ([[1, 0, 1]], [5.0])
    """
    deadline = deadline or Deadline.after(None)
    deadline = deadline.within(SHARE * deadline.left)
    # A flow this short ends before a limit could matter.
    work = 1e-9 * NANOSECONDS * problem.batch * (problem.n + problem.e)
    if work <= QUICK:
        deadline = Deadline.after(None)
    elif work > deadline.left:
        return RoofDuality.free(problem)
    scores = FixedPoint.of(problem)
    # The flow network has four edges per pair; chunks limit its memory.
    step = max(1, CAPACITIES_A_CALL // (4 * problem.e + 1))
    with deadline.flag(work) as stop:
        batches = [
            _cut(scores, slice(start, start + step), stop)
            for start in range(0, problem.batch, step)
        ]
    fixed, bound = (np.concatenate(column) for column in zip(*batches, strict=True))
    return RoofDuality(fixed, scores.bound(bound), 2 * scores.error)


def halved(problem: Problem) -> tuple[States, Scores]:
    """Return states `[batch, n]` and bounds `[batch]` by halving every pairwise score.

    A variable is 1 where its unary score and half of its pairwise scores add up to more than 0.

    w x y <= w (x + y) / 2 where w > 0, and w x y <= -w (1 - x - y) / 2 where w < 0. So no score
    exceeds

        sum_(w < 0) |w| / 2 + sum_i max(0, unary_i + sum_j w_ij / 2),

    nor the sum of the positive coefficients. In dense problems of both signs this bound is close to
    that of roof duality.
    """
    field = np.empty((problem.batch, problem.n))
    constant = np.empty(problem.batch)
    pairs = plain(problem.topology.pairs)
    kernels.halve(pairs, plain(problem.unary), plain(problem.pairwise), field, constant)
    bound = constant + np.maximum(field, 0.0).sum(axis=1) + problem.rounding
    return (field > 0).astype(np.int8), np.minimum(bound, problem.positive_part)


def _cut(scores: FixedPoint, instances: slice, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values `[part, n]` and the integer bounds `[part]` of some instances.

    As c x y = (c/2)(x + y) - (c/2)|x - y|, with terminal_i = 2 unary_i + sum_j w_ij,

        2 F = constant + sum_i terminal_i (x_i - y_i) - the |w| of the edges that are cut,
        constant = 2 (sum unary + sum_(w > 0) w);

    an edge w > 0 joins x_i with x_j and y_i with y_j; one of w < 0 joins x_i with y_j and y_i with
    x_j.
    """
    unary = scores.unary[instances]
    pairwise = scores.pairwise[instances]
    first, second = scores.edges.T
    n = unary.shape[1]
    # A positive pair joins variables alike, a negative one a variable and a complement.
    alike = np.maximum(pairwise, 0)
    unlike = np.maximum(-pairwise, 0)
    # The kernel adds the capacities at a node to twice its unary score: that gives the terminals.
    field = np.concatenate([unary, -unary], axis=1)
    for here, there in ((first, second), (second, first)):
        np.subtract.at(field.T, here, unlike.T)
        np.subtract.at(field.T, n + there, alike.T)
    ends = [(first, second), (n + first, n + second), (first, n + second), (n + first, second)]
    edges = np.concatenate([np.stack(pair, axis=1) for pair in ends])
    capacity = np.concatenate([alike, alike, unlike, unlike], axis=1)
    # An edge without capacity in any instance only costs time.
    used = capacity.any(axis=0)
    states, doubled = sparse_argmax(field, capacity[:, used], edges[used], stop=stop)
    x = states[:, :n]
    y = states[:, n:]
    constant = 2 * (unary.sum(axis=1) + alike.sum(axis=1))
    # Four times the integer score is at most 2 F, so the score is at most the quotient rounded
    # down.
    fixed = np.where((x == y) | bool(stop[0]), -1, x).astype(np.int8)
    return fixed, (constant + doubled) // 4
