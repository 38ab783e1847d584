"""Take nodes out of a spin graph by rules that keep the maximum, until no rule applies.

Every rule keeps the maximum. Any maximiser of the smaller graph gives one of the larger graph: the
removed node gets the sign of the sum of weight times spin over its entries in the log.

- `degree_1`, `degree_2`, `dominated`: an edge weighs as much as all others at a node, which then
  follows its other end.
- `degree_3`: max over s of s (a s_1 + b s_2 + c s_3) is a constant and three edges, as no flip of
  all three changes it.
- `pair`, `twin`: see pair_rules.hpp.

In a problem with fields a variable of degree d has d + 1 neighbours here, the node beside the
variables among them. So `dominated` has the variables that the signs of their scores decide, and
`degree_3` those of degree 2.

References:
    Liers, Martin, Pape (2016), Structural backdoors of Ising problems: reductions of nodes of
    degree up to 3. Lange, Andres, Swoboda (2019), Combinatorial persistency criteria for multicut
    and max-cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled._kernels import presolve as kernels

RULES = ("isolated", "degree_1", "degree_2", "degree_3", "dominated", "pair", "twin")
"""Names of the rules by number; the first four are numbered by the degree of the node."""


class Log(NamedTuple):
    """Nodes that were taken out, in order: s_node = sign of sum_k weight_k s_near_k.

    Attributes:
        node: `[nodes]`, the nodes that were taken out.
        near: `[nodes, 3]`, the nodes that decide about them, where the weight is not 0.
        weight: `[nodes, 3]`.
        counts: `[rules]`, number of nodes that each rule took out.
        constant: by how much the sums over the edges are smaller now.
    """

    node: np.ndarray
    near: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    constant: int


def shrink(
    nodes: int, edges: np.ndarray, weight: np.ndarray, allowed: np.ndarray, stop: np.ndarray
) -> tuple[Log, np.ndarray, np.ndarray]:
    """Take out nodes by the allowed rules, until no rule applies or `stop` is set.

    Args:
        nodes: number of nodes.
        edges: `[e, 2]`, distinct.
        weight: `[e]`, whole numbers.
        allowed: `[rules]`, bool.
        stop: `[1]` uint8, which another thread sets.

    Returns:
        The log; the remaining edges `[k, 2]` and their weights `[k]`.
    """
    edges = np.ascontiguousarray(edges, np.int64)
    weight = np.ascontiguousarray(weight, np.int64)
    node, near, of_near, counts, constant, joined, left = kernels.shrink(
        nodes, edges, weight, allowed, stop
    )
    return Log(node, near, of_near, counts, constant), joined, left


def restore(log: Log, spins: np.ndarray) -> None:
    """Set the spins of the nodes in the log, the last one first, in `spins [nodes]`."""
    kernels.restore(log.node, log.near, log.weight, spins)
