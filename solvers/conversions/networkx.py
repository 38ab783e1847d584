"""Scores on the nodes and edges of networkx graphs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..errors import OptionError, ProblemError, did_you_mean, shortened
from ..problem import Problem
from .conversion import Conversion, Labels, converted, places_of
from .cuts import from_max_cut, from_min_cut
from .energy import energy_of, named
from .terms import real_array

Kind: TypeAlias = Literal["scores", "max_cut", "min_cut"]


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
    """From a networkx graph: the scores on its nodes and edges, or its maximum or minimum cut.

    Args:
        graph: directed or not; parallel and opposite edges add up, a loop goes to its node.
        unary: the node attribute; where no node has it, all scores of nodes are 0.
        pairwise: the edge attribute.
        kind: "scores", maximised; "max_cut": the sum of the weights of edges between two sides,
            maximised; or "min_cut": the capacity from the side of the source to that of the sink,
            minimised.
        weight: for a maximum cut, the edge attribute; an edge without it weighs 1, and a loop is
            never cut. For scores, what edges have where none has `pairwise`.
        capacity: for a minimum cut, the edge attribute; an edge without it is never cut, as in
            networkx. Edges without a direction have it both ways.
        source: for a minimum cut, a node.
        sink: for a minimum cut, another node.

    Raises:
        OptionError: another kind.
        ProblemError: no graph of networkx; a node or an edge without its attribute, or with one
            that is not a finite number.

    Example:
        >>> import networkx
        >>> graph = networkx.Graph([("a", "b", {"pairwise": 2.0})])
        >>> networkx.set_node_attributes(graph, {"a": -1.0, "b": 0.5}, "unary")
        >>> float(from_networkx(graph).problem.score([1, 1]))
        1.5
    """
    import networkx as nx  # takes a while to import, unless there is a graph already

    if not isinstance(graph, nx.Graph):
        raise ProblemError(f"expected a networkx graph; got {shortened(graph)}")
    if not isinstance(kind, str) or kind not in get_args(Kind):
        hint = did_you_mean(kind, get_args(Kind))
        raise OptionError(
            f"kind must be 'scores', 'max_cut' or 'min_cut'; {hint}got {shortened(kind)}"
        )
    attributes = {"unary": unary, "pairwise": pairwise, "weight": weight, "capacity": capacity}
    for name, attribute in attributes.items():
        if not isinstance(attribute, str):
            raise ProblemError(
                f"{name} must be the name of an attribute; got {shortened(attribute)}"
            )
    if kind == "max_cut":
        return _heaviest_cut(graph, weight)
    if kind == "min_cut":
        return _least_cut(graph, capacity, source, sink)
    nodes = dict(graph.nodes(data=unary))
    if all(value is None for value in nodes.values()):
        nodes = dict.fromkeys(nodes, 0.0)
    edges = list(graph.edges(data=pairwise))
    if all(value is None for *_, value in edges):
        edges = list(graph.edges(data=weight))
    for name, value in (*nodes.items(), *((f"({u}, {v})", value) for u, v, value in edges)):
        if value is None:
            raise ProblemError(
                f"{shortened(name)} has no score; "
                f"nodes need {shortened(unary)} and edges {shortened(pairwise)}"
            )
    place = places_of(tuple(nodes))
    pairs = np.array([(place[u], place[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    linear = real_array(unary, list(nodes.values()), 1)
    weights = real_array(pairwise, [value for *_, value in edges], 1)
    return converted("maximise", tuple(nodes), linear, pairs, weights, 0.0)


def _heaviest_cut(graph: Any, weight: str) -> Conversion:
    nodes = tuple(graph)
    edges = [edge for edge in graph.edges(data=weight, default=1) if edge[0] != edge[1]]
    place = places_of(nodes)
    pairs = np.array([(place[u], place[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    weights = real_array(weight, [value for *_, value in edges], 1)
    return replace(from_max_cut(len(nodes), pairs, weights), names=nodes)


def _least_cut(graph: Any, capacity: str, source: Any, sink: Any) -> Conversion:
    nodes = tuple(graph)
    place = places_of(nodes)
    for name, node in (("source", source), ("sink", sink)):
        if node not in place:
            hint = did_you_mean(node, nodes)
            raise ProblemError(
                f"a minimum cut needs a {name} among the nodes; {hint}got {shortened(node)}"
            )
    arcs = list(graph.edges(data=capacity, default=math.inf))
    if not graph.is_directed():
        arcs += [(v, u, value) for u, v, value in arcs]
    pairs = np.array([(place[u], place[v]) for u, v, _ in arcs], np.int64).reshape(-1, 2)
    capacities = real_array(capacity, [value for *_, value in arcs], 1)
    conversion = from_min_cut(len(nodes), pairs, capacities, place[source], place[sink])
    return replace(conversion, names=nodes)


def to_networkx(problem: Problem, labels: Labels | None = None) -> Any:
    """A networkx graph with the scores as node attribute `unary` and edge attribute `pairwise`.

    Args:
        problem: one instance.
        labels: `[n]`, names of the nodes; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_networkx(Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]])).edges(data=True)
        EdgeDataView([(0, 1, {'pairwise': 3.0})])
    """
    import networkx as nx  # takes a while to import, and no other conversion needs it

    names, unary, pairs, weights = energy_of(problem, labels)
    graph = nx.Graph()
    graph.add_nodes_from(
        (name, {"unary": -bias}) for name, bias in zip(names, unary.tolist(), strict=True)
    )
    couplings = named(names, pairs, weights).items()
    graph.add_edges_from((u, v, {"pairwise": -weight}) for (u, v), weight in couplings)
    return graph
