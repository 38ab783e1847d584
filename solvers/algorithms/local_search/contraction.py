"""Contract several assignments to one smaller problem, in which each of them is a state.

Variables that are neighbours in the graph, and that each assignment sets either all as the first
one does or all the other way, form a cluster. The clusters are the variables of the smaller
problem: 1 flips a cluster of the first assignment. Its maximiser is the best combination of the
clusters, so at least as good as every assignment. For two assignments it contains their partition
crossover: the clusters in which they differ touch only clusters in which they agree, and each
cluster takes the better side.

References:
    Whitley, Hains, Howe (2009), Tunneling between optima: partition crossover for the traveling
    salesman problem. Houdayer, Martin (1999), Renormalization for discrete optimization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...compiled._kernels import local_search as kernels
from ...compiled.plain import plain
from ...problems.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class Contracted:
    """The problem over clusters: score(lift(y)) = score(base) + problem.score(y).

    Attributes:
        problem: a single instance; its state zero stands for `base`.
        cluster: `[n]`, the cluster of every variable.
        base: `[n]`, the first assignment.
    """

    problem: Problem
    cluster: Int[np.ndarray, "n"]
    base: Int[np.ndarray, "n"]

    def lift(self, y: np.ndarray) -> np.ndarray:
        """Return the first assignment `[n]` with the clusters flipped where `y [clusters]` is 1."""
        lifted: np.ndarray = self.base.astype(np.int8) ^ y.astype(np.int8)[self.cluster]
        return lifted


def contract(problem: Problem, states: np.ndarray) -> Contracted:
    """Return the problem over the clusters of some assignments.

    With s_i = 1 - 2 base_i, flipping a set C gains sum_{i in C} s_i field_i + sum_{i < j in C}
    pairwise_ij s_i s_j.

    Args:
        problem: a single instance on the host.
        states: `[states, n]` of zeros and ones, at most 62 of them.
    """
    base = states[0]
    i, j = problem.edges.T
    cluster, count = clusters(problem.edges, _groups(states))
    unary = problem.unary[0].astype(np.float64)
    pairwise = problem.pairwise[0].astype(np.float64)
    sign = 1.0 - 2.0 * base
    # field_i is the gain of setting bit i, with the other bits as in `base`.
    field = (
        unary
        + np.bincount(i, pairwise * base[j], problem.n)
        + np.bincount(j, pairwise * base[i], problem.n)
    )
    # s_i s_j pairwise_ij is what flipping both ends adds to the two single flips.
    weight = pairwise * sign[i] * sign[j]
    ends = np.sort(cluster[problem.edges], axis=1)
    inside = ends[:, 0] == ends[:, 1]
    # Both ends of a pair inside a cluster flip together, so the pair belongs to its gain.
    within = np.bincount(ends[inside, 0], weight[inside], count)
    gain = np.bincount(cluster, sign * field, count) + within
    # Pairs between the same two clusters become one; their weights add up.
    codes, place = np.unique(ends[~inside] @ np.array([count, 1]), return_inverse=True)
    edges = np.stack(np.divmod(codes, count), axis=1)
    between = np.bincount(place, weight[~inside], len(codes))
    smaller = Problem.from_arrays(gain[None], between[None], edges=edges)
    return Contracted(smaller, cluster, base)


def _groups(states: np.ndarray) -> np.ndarray:
    """Return `[n]`: one number for each pattern of agreement with the first assignment."""
    numbers: np.ndarray = (1 << np.arange(len(states))) @ (states != states[0])
    return numbers


def clusters(edges: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the components of a graph without the edges between different groups.

    Args:
        edges: `[e, 2]`.
        group: `[n]`, the number of the group of every vertex.

    Returns:
        `[n]`, the component of every vertex, numbered by their first vertices; and their number.
    """
    component = np.empty(len(group), np.int64)
    count = kernels.fill_clusters(plain(edges), np.ascontiguousarray(group, np.int64), component)
    return component, count
