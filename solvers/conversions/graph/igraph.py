"""Convert graphs of igraph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError, shortened
from ..conversion import Conversion
from .graphs import Attributes, Graph, Kind, problem_of

PARTS = ("vs", "es", "vcount", "get_edgelist", "is_directed")
"""Attributes of an igraph graph."""


def from_igraph(
    graph: Any,
    unary: str = "unary",
    pairwise: str = "pairwise",
    *,
    kind: Kind = "scores",
    weight: str = "weight",
    capacity: str = "capacity",
    source: Any = None,
    sink: Any = None,
) -> Conversion:
    """Convert an igraph graph: the scores on its nodes and edges, or its maximum or minimum cut.

    Variables have the names of the vertices (attribute `name`), or their numbers without names.

    Args:
        graph: an `igraph.Graph`, directed or not; parallel and opposite edges add up.
        unary: the vertex attribute; if no vertex has it, all scores of vertices are 0.
        pairwise: the edge attribute.
        kind: "scores", "max_cut" or "min_cut", as for `from_networkx`.
        weight: for a maximum cut, the edge attribute; an edge without it weighs 1. For scores, the
            edge attribute if no edge has `pairwise`.
        capacity: for a minimum cut, the edge attribute; an edge without it is never cut.
        source: for a minimum cut, the name of a vertex, or its number without names.
        sink: for a minimum cut, another vertex.

    Raises:
        OptionError: the kind is unknown.
        ProblemError: `graph` is not an igraph graph; two vertices have the same name; a vertex or
            an edge lacks its attribute; or an attribute is not a finite number.

    Example:
        >>> import igraph  # doctest: +SKIP
        >>> graph = igraph.Graph([(0, 1), (1, 2)])  # doctest: +SKIP
        >>> solve(from_igraph(graph, kind="max_cut")).value  # doctest: +SKIP
        2.0
    """
    if not all(hasattr(graph, name) for name in PARTS):
        raise ProblemError(f"expected an igraph graph; got {shortened(graph)}")
    attributes = Attributes(unary, pairwise, weight, capacity, source, sink)
    return problem_of(_graph_of(graph), kind, attributes)


def _graph_of(graph: Any) -> Graph:
    """Return the edges and attributes of a graph.

    Raises:
        ProblemError: two vertices have one name.
    """
    count = graph.vcount()
    names: Any = range(count)
    if "name" in graph.vs.attributes():
        names = tuple(graph.vs["name"])
    if len(set(names)) < count:
        raise ProblemError(
            "two vertices have one name; rename one, or delete the vertex attribute 'name'"
        )

    def of_nodes(attribute: str) -> list[Any]:
        return _values(graph.vs, attribute, count)

    def of_edges(attribute: str) -> list[Any]:
        return _values(graph.es, attribute, graph.ecount())

    pairs = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    return Graph(names, pairs, graph.is_directed(), of_nodes, of_edges)


def _values(elements: Any, attribute: str, count: int) -> list[Any]:
    """Return an attribute of vertices or edges, with None for those that lack it."""
    if attribute not in elements.attributes():
        return [None] * count
    return list(elements[attribute])
