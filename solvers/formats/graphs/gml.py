"""Read graphs in the GML format, by networkx."""

from __future__ import annotations

from typing import Any

from ...conversions.conversion import Conversion
from ...conversions.graph.graphs import Kind
from ...conversions.graph.networkx import from_networkx
from ...errors import ProblemError
from ..parsing.text import TextFile


def read_gml(text: TextFile) -> Conversion:
    """Read the scores `unary` of nodes and `pairwise` of edges, or else a maximum cut.

    If no node and no edge has such a score, the weight of the edges between two sets of nodes is
    maximised. An edge without the attribute `weight` weighs 1. Parallel edges add up.

    Raises:
        ProblemFileError: the file has another form.
    """
    import networkx as nx  # slow to import

    try:
        graph = nx.parse_gml(text.whole().splitlines())
    except (nx.NetworkXError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise text.error(f"networkx cannot read the graph: {str(error)[:200]}") from error
    if not len(graph):
        raise text.error("the graph has no nodes")
    kind: Kind = "max_cut"
    if _has_scores(graph):
        kind = "scores"
    try:
        return from_networkx(graph, kind=kind)
    except ProblemError as error:
        raise text.error(str(error)) from error


def _has_scores(graph: Any) -> bool:
    """Return whether a node or an edge has a score."""
    nodes = (score for _, score in graph.nodes(data="unary"))
    edges = (score for *_, score in graph.edges(data="pairwise"))
    return any(score is not None for scores in (nodes, edges) for score in scores)
