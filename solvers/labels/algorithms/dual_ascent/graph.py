"""Graph of an instance with whole scores, which all searches over labels read."""

from __future__ import annotations

import numpy as np

from ....compiled._kernels import labels as kernels
from ....compiled.graphs import neighbour_lists, sides_of
from ....compiled.plain import plain
from ..whole_scores import WholeScores

IMPOSSIBLE: int = kernels.IMPOSSIBLE
"""Lower bound on the sum of allowed scores; a lower sum contains a forbidden score."""


def graph_of(scores: WholeScores) -> kernels.Graph:
    """Return the graph of an instance in the form that the kernels take."""
    parts = scores.tables
    starts, near, edge = neighbour_lists(len(scores.sizes), parts.pairs)
    side = sides_of(starts, edge, parts.pairs)
    both = np.stack([parts.tables, np.ascontiguousarray(parts.tables.swapaxes(1, 2))])
    table_of = np.ascontiguousarray(parts.table_of, np.int64)
    return kernels.Graph(starts, near, edge, side, table_of, both, plain(parts.weights))


def score_of(scores: WholeScores, graph: kernels.Graph, labels: np.ndarray) -> int:
    """Return the whole score of labels `[n]`; less than `IMPOSSIBLE` if they are forbidden."""
    return int(kernels.score_of(plain(scores.unary), graph, np.ascontiguousarray(labels, np.int64)))
