"""Read the .qubo files of qbsolv: "p qubo", linear terms, couplers."""

from __future__ import annotations

import numpy as np

from ...conversions.conversion import Conversion, converted
from ..parsing.entries import ENTRY_BYTES, read_entries
from ..parsing.text import TextFile


def read_qbsolv(text: TextFile) -> Conversion:
    """Read a problem that minimises sum_i q_ii x_i + sum_(i,j) q_ij x_i x_j.

    The header is "p qubo 0 n nodes couplers". Variables are numbered from 0.

    Every coupler counts once.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    header = next(rows, [])
    if len(header) != 6 or header[:2] != [b"p", b"qubo"]:
        raise text.error("expected the header 'p qubo 0 n nodes couplers'")
    n = text.integer(header[3], "n", 1, 2**62)
    nodes = text.integer(header[4], "the number of linear terms", 0, n)
    couplers = text.integer(header[5], "the number of couplers", 0, 2**62)
    text.check_claim(n, nodes + couplers, ENTRY_BYTES)
    entries = read_entries(text, rows, n, nodes + couplers, first=0)
    entries.check_repeats()
    linear = int((~entries.off_diagonal).sum())
    if linear != nodes:
        raise text.error(f"the header claims {nodes} linear terms, but there are {linear}")
    return converted("minimise", range(n), np.zeros(n), entries.pairs, entries.weights, 0.0)
