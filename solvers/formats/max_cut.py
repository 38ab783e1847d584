"""Read weighted graphs for the maximum cut, as in the G-set and the output of rudy."""

from __future__ import annotations

from dataclasses import replace

from ..conversions.conversion import Conversion
from ..conversions.cuts import from_max_cut
from .entries import read_entries, read_sizes
from .text import TextFile


def read_max_cut(text: TextFile) -> Conversion:
    """Read a maximum cut problem; vertices are numbered from 1.

    It maximises the weight of the edges between two sets of vertices.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    n, count = read_sizes(text, next(rows, None))
    edges, weights = read_entries(text, rows, n, count, first=1)
    return replace(from_max_cut(n, edges, weights), names=range(1, n + 1))
