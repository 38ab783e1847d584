"""Convert graphs of networkx."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError, shortened
from ...problems.problem import Problem
from ..conversion import Conversion, Labels, places_of
from ..energy import energy_of, named
from .graphs import Attributes, Graph, Kind, problem_of


def from_networkx(
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
    """Convert a networkx graph: the scores on its nodes and edges, or its maximum or minimum cut.

    Args:
        graph: directed or not; parallel and opposite edges add up, a loop goes to its node.
        unary: the node attribute; if no node has it, all scores of nodes are 0.
        pairwise: the edge attribute.
        kind: "scores", maximised; "max_cut": the sum of the weights of edges between two sides,
            maximised; or "min_cut": the capacity from the side of the source to that of the sink,
            minimised.
        weight: for a maximum cut, the edge attribute; an edge without it weighs 1, and a loop is
            never cut. For scores, the edge attribute if no edge has `pairwise`.
        capacity: for a minimum cut, the edge attribute; an edge without it is never cut, as in
            networkx. Undirected edges have this capacity in both directions.
        source: for a minimum cut, a node.
        sink: for a minimum cut, another node.

    Raises:
        OptionError: the kind is unknown.
        ProblemError: `graph` is not a networkx graph; a node or an edge lacks its attribute; or an
            attribute is not a finite number.

    Example:
        >>> import networkx
        >>> graph = networkx.Graph([("a", "b", {"pairwise": 2.0})])
        >>> networkx.set_node_attributes(graph, {"a": -1.0, "b": 0.5}, "unary")
        >>> float(from_networkx(graph).problem.score([1, 1]))
        1.5
    """
    import networkx as nx  # slow to import, unless the caller has a graph

    if not isinstance(graph, nx.Graph):
        raise ProblemError(f"expected a networkx graph; got {shortened(graph)}")
    attributes = Attributes(unary, pairwise, weight, capacity, source, sink)
    return problem_of(_graph_of(graph), kind, attributes)


def _graph_of(graph: Any) -> Graph:
    """Return the edges and attributes of a graph."""
    nodes = tuple(graph)
    place = places_of(nodes)
    pairs = np.array([(place[u], place[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2)

    def of_nodes(attribute: str) -> list[Any]:
        return [value for _, value in graph.nodes(data=attribute)]

    def of_edges(attribute: str) -> list[Any]:
        return [value for *_, value in graph.edges(data=attribute)]

    return Graph(nodes, pairs, graph.is_directed(), of_nodes, of_edges)


def to_networkx(problem: Problem, labels: Labels | None = None) -> Any:
    """Return a networkx graph with scores as attributes: `unary` of nodes, `pairwise` of edges.

    Args:
        problem: one instance.
        labels: `[n]`, names of the nodes; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_networkx(Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]])).edges(data=True)
        EdgeDataView([(0, 1, {'pairwise': 3.0})])
    """
    import networkx as nx  # slow to import, and only needed here

    names, unary, pairs, weights = energy_of(problem, labels)
    graph = nx.Graph()
    graph.add_nodes_from(
        (name, {"unary": -bias}) for name, bias in zip(names, unary.tolist(), strict=True)
    )
    couplings = named(names, pairs, weights).items()
    graph.add_edges_from((u, v, {"pairwise": -weight}) for (u, v), weight in couplings)
    return graph
