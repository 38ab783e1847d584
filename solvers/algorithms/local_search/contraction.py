"""Several assignments made one smaller problem, in which each of them is a state.

Variables that are neighbours in the graph, and that each assignment sets either as the first one
does or each the other way, form a cluster. The clusters are the variables of the smaller problem: 1
flips a cluster of the first assignment. Its maximiser is the best that can be put together from the
clusters, so at least as good as every assignment. Of two assignments it holds their partition
crossover: the clusters in which they differ touch none but clusters in which they agree, and the
better side is taken of each.

References:
    Whitley, Hains, Howe (2009), Tunneling between optima: partition crossover for the traveling
    salesman problem. Houdayer, Martin (1999), Renormalization for discrete optimization.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ...compiled._kernels import local_search as kernels
from ...compiled.plain import plain
from ...problem import Problem


@dataclass(frozen=True, eq=False)
class Contracted:
    """The problem over clusters: score(lift(y)) = score(base) + problem.score(y).

    Attributes:
        problem: a single instance; its state zero is `base`.
        cluster: `[n]`, of every variable.
        base: `[n]`, the first assignment.
    """

    problem: Problem
    cluster: Int[np.ndarray, "n"]
    base: Int[np.ndarray, "n"]

    def lift(self, y: np.ndarray) -> np.ndarray:
        """`[n]` int8: the first assignment with the clusters flipped where `y [clusters]` is 1."""
        lifted: np.ndarray = self.base.astype(np.int8) ^ y.astype(np.int8)[self.cluster]
        return lifted


def contract(problem: Problem, states: np.ndarray) -> Contracted:
    """The problem over the clusters of some assignments.

    With s_i = 1 - 2 base_i, flipping a set C gains sum_{i in C} s_i field_i + sum_{i < j in C}
    pairwise_ij s_i s_j.

    Args:
        problem: a single instance on the host.
        states: `[states, n]` of zeros and ones, at most 62 of them.
    """
    base, (i, j) = states[0], problem.edges.T
    cluster, count = clusters(problem.edges, _groups(states))
    unary, pairwise = (array[0].astype(np.float64) for array in (problem.unary, problem.pairwise))
    sign = 1.0 - 2.0 * base
    field = (
        unary
        + np.bincount(i, pairwise * base[j], problem.n)
        + np.bincount(j, pairwise * base[i], problem.n)
    )
    weight, ends = pairwise * sign[i] * sign[j], np.sort(cluster[problem.edges], axis=1)
    inside = ends[:, 0] == ends[:, 1]
    own = np.bincount(cluster, sign * field, count) + np.bincount(
        ends[inside, 0], weight[inside], count
    )
    codes, place = np.unique(ends[~inside] @ np.array([count, 1]), return_inverse=True)
    edges = np.stack(np.divmod(codes, count), axis=1)
    between = np.bincount(place, weight[~inside], len(codes))
    return Contracted(Problem.from_arrays(own[None], between[None], edges=edges), cluster, base)


def _groups(states: np.ndarray) -> np.ndarray:
    """`[n]`: the same number for variables that differ from the first assignment in the same others."""
    numbers: np.ndarray = (1 << np.arange(len(states))) @ (states != states[0])
    return numbers


def clusters(edges: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the components of a graph without the edges between vertices of different groups.

    Args:
        edges: `[e, 2]`.
        group: `[n]`, the number of the group of every vertex.

    Returns:
        `[n]`, the component of every vertex, numbered by their first vertices; and how many there
        are.
    """
    component = np.empty(len(group), np.int64)
    count = kernels.fill_clusters(plain(edges), np.ascontiguousarray(group, np.int64), component)
    return component, count
