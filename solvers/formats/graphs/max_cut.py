"""Read graphs for the maximum cut, as in the G-set and the output of rudy."""

from __future__ import annotations

from dataclasses import replace

from ...conversions.conversion import Conversion
from ...conversions.graph.cuts import from_max_cut
from ..parsing.entries import EDGE_BYTES, read_entries, read_sizes
from ..parsing.text import TextFile


def read_max_cut(text: TextFile) -> Conversion:
    """Read a maximum cut problem: a header "n m", then "i j weight" or "i j" for a weight of 1.

    It maximises the weight of the edges between two sets of vertices. Parallel edges add up, and
    loops are never cut. Vertices are numbered from 1; from 0 if there is a vertex 0.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    n, count = read_sizes(text, next(rows, None), EDGE_BYTES)
    edges = read_entries(text, rows, n, count, first=None, weighted=False)
    return replace(from_max_cut(n, edges.pairs, edges.weights), names=edges.names)
