"""Test whether the bits of labels are a minimum cut, without writing the labels as bits.

In the domain-wall encoding, a pair of bits scores a second difference of the table of its edge:
D[a, b] = T[a+1, b+1] - T[a+1, b] - T[a, b+1] + T[a, b]. A table without negative ones is
supermodular, and minus such a table is a Monge matrix. The walls keep the bits of a variable
together, so only flips of all of them can help. Hence a cut is exact if the second differences of
each table share one sign, and flips of variables make the signs of all edges positive.

Loop structure: blocks of edges, each of twice as many as the block before. Most tables show both
signs in their first entries, so that a random problem ends the search at its first edge.

References:
    Ishikawa (2003), Exact optimization for Markov random fields with convex priors.
    Schlesinger and Flach (2006), Transforming an arbitrary minsum problem into a binary one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...algorithms.max_flow.supermodular_flips import supermodular_flips
from ...limits.deadline import Deadline
from ..problem import LabelProblem
from .domain_wall import allowed_scores, forbidden_score

if TYPE_CHECKING:
    from jaxtyping import Float, Int

BLOCK_ENTRIES = 1 << 18
"""Maximum number of entries of tables between two looks at the deadline."""


def are_supermodular(problem: LabelProblem, deadline: Deadline) -> bool:
    """Return whether a minimum cut of the bits of labels solves all instances exactly.

    False also if the deadline passes first.

    Args:
        problem: a problem on the host, with tables of k x k or edges with scores of equal values.
        deadline: when to end.
    """
    for rows in _row_blocks(problem):
        signs = _signs(problem.instances(rows), deadline)
        if signs is None:
            return False
        _, balanced = supermodular_flips(signs, problem.edges, problem.n)
        if not balanced.all():
            return False
    return True


def _row_blocks(problem: LabelProblem) -> Iterator[slice]:
    """Yield the instances whose second differences may differ.

    The first comes alone, since it mostly decides.
    """
    yield slice(0, 1)
    shared = len(problem.tables) == 1
    if problem.weights is not None:
        shared = shared and len(problem.weights) == 1
    # What replaces minus infinity depends on the scores of the instance.
    if shared and np.isfinite(problem.tables).all():
        return
    count = max(1, BLOCK_ENTRIES // problem.k**2)
    for start in range(1, problem.batch, count):
        yield slice(start, min(start + count, problem.batch))


def _signs(problem: LabelProblem, deadline: Deadline) -> Float[np.ndarray, "batch e"] | None:
    """Return the sign of the second differences of each edge, 0 where all of them are 0.

    None if an edge has both signs, or if the deadline passes first.
    """
    first_edges, alike = _different_edges(problem)
    signs = np.zeros((problem.batch, len(first_edges)))
    most = max(1, BLOCK_ENTRIES // (problem.batch * problem.k**2))
    start = 0
    count = 1
    while start < len(first_edges):
        if deadline.passed:
            return None
        block = slice(start, start + count)
        differences = _second_differences(problem, first_edges[block])
        above = (differences > 0).any(axis=(2, 3))
        below = (differences < 0).any(axis=(2, 3))
        if (above & below).any():
            return None
        signs[:, block] = above.astype(np.float64) - below
        start += count
        count = min(2 * count, most)
    return signs[:, alike]


def _different_edges(
    problem: LabelProblem,
) -> tuple[Int[np.ndarray, "different"], Int[np.ndarray, "e"]]:
    """Return one edge of each kind, and the kind of each edge.

    Edges are alike if they have the same table, no weights, and ends of the same sizes.
    """
    if problem.weights is not None:
        every = np.arange(problem.e)
        return every, every
    keys = np.column_stack([problem.table_of, problem.sizes[problem.edges]])
    _, firsts, alike = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return firsts, alike.reshape(-1)


def _second_differences(
    problem: LabelProblem, edges: Int[np.ndarray, "block"]
) -> Float[np.ndarray, "batch block a b"]:
    """Return the scores that pairs of bits get in `domain_wall`, 0 for bits that are not there."""
    tables = np.asarray(problem.tables[:, problem.table_of[edges]], np.float64)
    if problem.weights is not None:
        tables = tables * np.asarray(problem.weights)[:, edges, None, None]
    tables = np.broadcast_to(tables, (problem.batch, *tables.shape[1:]))
    tables = allowed_scores(tables, forbidden_score(problem))
    differences = np.diff(np.diff(tables, axis=2), axis=3)
    places = np.arange(problem.k - 1)
    first, second = (problem.sizes[problem.edges[edges]] - 1).T
    outside = (places >= first[:, None])[:, :, None] | (places >= second[:, None])[:, None, :]
    differences[:, outside] = 0.0
    return differences
