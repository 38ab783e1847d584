"""Find bit flips that make a problem supermodular, if any exist.

With z_i = 1 - t_i for some i, the pairwise score of an edge changes its sign if exactly one of its
ends is flipped. All become >= 0 if the flipped variables are one class of a suitable 2-colouring.
It puts the ends of a negative edge into different classes, and those of a positive edge into the
same class. Such a colouring exists if no cycle has an odd number of negative edges: then the signs
are called balanced.

References:
    Harary (1953), On the notion of balance of a signed graph.
    Hansen, Simeone (1986), Unimodular functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Edges, Flags, Pairwise, Scores, States, Unary, to_numpy
from ...compiled._kernels import max_flow as kernels
from ...compiled.plain import plain
from ...compiled.threads import over_slices
from ...problems.problem import Problem
from ...solution import Maximiser

if TYPE_CHECKING:
    from jaxtyping import Float


def why_no_flips(problem: Problem) -> tuple[str, ...]:
    """Return why bit flips do not make every pairwise score >= 0; empty if they do."""
    _, balanced = supermodular_flips(to_numpy(problem.pairwise), problem.topology.pairs, problem.n)
    if balanced.all():
        return ()
    instance = int(np.argmin(balanced))
    return (f"no bit flips change that: the signs of instance {instance} are frustrated",)


def after_flips(
    problem: Problem, minimum_cut: Callable[[Problem], tuple[States, Scores]], **stats: int
) -> Maximiser:
    """Return the minimum cuts of a problem, after bit flips if pairwise scores are negative.

    Args:
        problem: host arrays, with `why_no_flips` empty or every pairwise score >= 0.
        minimum_cut: returns the maximisers `[batch, n]` and bounds `[batch]` of a supermodular
            problem.
        stats: further counts for the result.
    """
    if problem.negative_pair() is None:
        return Maximiser(*minimum_cut(problem), stats)
    flips, _ = supermodular_flips(problem.pairwise, problem.edges, problem.n)
    unary, pairwise, constant = flipped(problem.unary, problem.pairwise, problem.edges, flips)
    z, bound = minimum_cut(replace(problem, unary=unary, pairwise=pairwise))
    return Maximiser(z ^ flips, bound + constant, {"flipped": int(flips.sum()), **stats})


def supermodular_flips(
    pairwise: Pairwise, edges: Edges, n: int, threads: int | None = None
) -> tuple[States, Flags]:
    """Return flips `[batch, n]` that make all pairwise scores >= 0, and whether any do, `[batch]`.

    Without such flips, all are 0. Edges of score zero do not count.

    Args:
        pairwise: `[batch, e]`.
        edges: `[e, 2]`.
        n: number of variables.
        threads: maximum number of threads; None for all cores.

    Example:
        >>> edges = np.array([[0, 1], [1, 2], [0, 2]])
        >>> pairwise = np.array([[-1.0, -2.0, 3.0], [1.0, 1.0, -1.0]])
        >>> flips, balanced = supermodular_flips(pairwise, edges, 3)
        >>> flips.tolist(), balanced.tolist()
        ([[0, 1, 0], [0, 0, 0]], [True, False])
    """
    batch = len(pairwise)
    flips = np.zeros((batch, n), np.int8)
    balanced = np.empty(batch, np.bool_)
    kernel = partial(kernels.flips, np.ascontiguousarray(edges, np.int64))
    over_slices(
        kernel,
        plain(pairwise),
        flips,
        balanced,
        nanoseconds=100 + 3 * n + 4 * len(edges),
        threads=threads,
    )
    return flips, balanced


def flipped(
    unary: Unary, pairwise: Pairwise, edges: Edges, flips: States
) -> tuple[Float[np.ndarray, "batch n"], Float[np.ndarray, "batch e"], Float[np.ndarray, "batch"]]:
    """Return the problem in t = z xor flips: unary, pairwise and constant, float64.

    score(z) = constant + sum_i unary_i t_i + sum_edges pairwise_e t_i t_j. The pairwise scores are
    exact; unary scores and constant are rounded sums.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`.
        flips: `[batch, n]` of 0 and 1.

    Example:
        >>> arrays = ([[1.0, 2.0]], [[-3.0]], [[0, 1]], [[0, 1]])
        >>> u, w, constant = flipped(*map(np.array, arrays))
        >>> u.tolist(), w.tolist(), constant.tolist()
        ([[-2.0, -2.0]], [[3.0]], [2.0])
    """
    unary = unary.astype(np.float64)
    pairwise = pairwise.astype(np.float64)
    one = flips.astype(np.float64)
    # z_i = one_i + sign_i t_i, put into the score.
    sign = 1 - 2 * one
    first = edges[:, 0]
    second = edges[:, 1]
    constant = (unary * one).sum(axis=1) + (pairwise * one[:, first] * one[:, second]).sum(axis=1)
    field = unary.copy()
    np.add.at(field.T, first, (pairwise * one[:, second]).T)
    np.add.at(field.T, second, (pairwise * one[:, first]).T)
    return sign * field, pairwise * sign[:, first] * sign[:, second], constant
