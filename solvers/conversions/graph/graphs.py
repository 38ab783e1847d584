"""Convert graphs of any library: scores on nodes and edges, maximum and minimum cuts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ...errors import OptionError, ProblemError, did_you_mean, shortened
from ..conversion import Conversion, converted, places_of
from ..exact import ExactTerms, fraction_of, separated
from ..objective import Quadratic
from ..terms import Pairs, real_array
from .cuts import from_max_cut, from_min_cut

Kind: TypeAlias = Literal["scores", "max_cut", "min_cut"]


@dataclass(frozen=True, eq=False)
class Graph:
    """Graph of any library, as its edges and attributes.

    Attributes:
        nodes: `[n]`, the names of the nodes.
        pairs: `[e, 2]`, the places of the ends of each edge; edges may repeat, and loops may occur.
        directed: whether edges have a direction.
        of_nodes: returns the values `[n]` of a node attribute, with None for nodes that lack it.
        of_edges: returns the values `[e]` of an edge attribute, with None for edges that lack it.
    """

    nodes: Sequence[Hashable]
    pairs: Pairs
    directed: bool
    of_nodes: Callable[[str], list[Any]]
    of_edges: Callable[[str], list[Any]]


@dataclass(frozen=True)
class Attributes:
    """Options of a caller for the conversion of a graph.

    Attributes:
        unary: the node attribute of scores.
        pairwise: the edge attribute of scores.
        weight: the edge attribute of a maximum cut, and of scores if no edge has `pairwise`.
        capacity: the edge attribute of a minimum cut.
        source: the node on one side of a minimum cut.
        sink: the node on its other side.
    """

    unary: str
    pairwise: str
    weight: str
    capacity: str
    source: Any
    sink: Any


def problem_of(graph: Graph, kind: Any, attributes: Attributes) -> Conversion:
    """Return the conversion of a graph.

    Raises:
        OptionError: the kind is unknown.
        ProblemError: the name of an attribute is not a string, a node or an edge lacks its
            attribute, or a number is not finite.
    """
    if not isinstance(kind, str) or kind not in get_args(Kind):
        hint = did_you_mean(kind, get_args(Kind))
        raise OptionError(
            f"kind must be 'scores', 'max_cut' or 'min_cut'; {hint}got {shortened(kind)}"
        )
    for name in ("unary", "pairwise", "weight", "capacity"):
        attribute = getattr(attributes, name)
        if not isinstance(attribute, str):
            raise ProblemError(
                f"{name} must be the name of an attribute; got {shortened(attribute)}"
            )
    if kind == "max_cut":
        weights = _filled(graph.of_edges(attributes.weight), 1)
        cut = from_max_cut(len(graph.nodes), graph.pairs, weights)
        return replace(cut, names=graph.nodes)
    if kind == "min_cut":
        return _least_cut(graph, attributes)
    return _scores(graph, attributes)


def _filled(values: list[Any], default: Any) -> list[Any]:
    """Return the values of an attribute, with a default number for missing values."""
    return [default if value is None else value for value in values]


def _check_scored(graph: Graph, nodes: list[Any], edges: list[Any], needed: Attributes) -> None:
    """Raise if a node or an edge has no score."""
    named = [*zip(graph.nodes, nodes, strict=True)]
    ends = [tuple(graph.nodes[place] for place in pair) for pair in graph.pairs.tolist()]
    named += [(f"({u}, {v})", value) for (u, v), value in zip(ends, edges, strict=True)]
    for name, value in named:
        if value is None:
            raise ProblemError(
                f"{shortened(name)} has no score; nodes need {shortened(needed.unary)} and "
                f"edges {shortened(needed.pairwise)}"
            )


def _scores(graph: Graph, attributes: Attributes) -> Conversion:
    """Return the sum of the scores on nodes and edges, maximised."""
    nodes = graph.of_nodes(attributes.unary)
    if all(value is None for value in nodes):
        nodes = [0.0] * len(nodes)
    edges = graph.of_edges(attributes.pairwise)
    if all(value is None for value in edges):
        edges = graph.of_edges(attributes.weight)
    _check_scored(graph, nodes, edges, attributes)
    # Exact values are kept separately if float64 rounds them, for the value of the answer.
    unary, exact_unary = separated(nodes)
    pairwise, exact_pairwise = separated(edges)
    linear = real_array(attributes.unary, unary, 1)
    weights = real_array(attributes.pairwise, pairwise, 1)
    exact = None
    if exact_unary is not None or exact_pairwise is not None:
        terms = [*(exact_unary or map(fraction_of, linear.tolist()))]
        terms += exact_pairwise or map(fraction_of, weights.tolist())
        exact = ExactTerms(Fraction(0), terms)
    original = Quadratic((0.0,), linear, graph.pairs, weights, exact=exact)
    return converted("maximise", graph.nodes, linear, graph.pairs, weights, 0.0, original=original)


def _least_cut(graph: Graph, attributes: Attributes) -> Conversion:
    """Return the minimum cut; undirected edges become arcs in both directions."""
    place = places_of(graph.nodes)
    terminals = (("source", attributes.source), ("sink", attributes.sink))
    for name, node in terminals:
        if node not in place:
            hint = did_you_mean(node, graph.nodes)
            raise ProblemError(
                f"a minimum cut needs a {name} among the nodes; {hint}got {shortened(node)}"
            )
    capacities = _filled(graph.of_edges(attributes.capacity), math.inf)
    pairs = graph.pairs
    if not graph.directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
        capacities = [*capacities, *capacities]
    source, sink = (place[node] for _, node in terminals)
    cut = from_min_cut(len(graph.nodes), pairs, capacities, source, sink)
    return replace(cut, names=graph.nodes)
