"""Read Biq Mac and OR-Library files: a header "n m", then entries of a symmetric matrix."""

from __future__ import annotations

import numpy as np

from ..conversions.conversion import Conversion, converted
from ..conversions.sense import Sense
from .entries import read_entries, read_sizes
from .text import TextFile


def read_biq_mac(text: TextFile) -> Conversion:
    """Read a problem that minimises x'Qx, as in the Biq Mac Library.

    Raises:
        ProblemFileError: the file has another form.
    """
    return _read(text, "minimise")


def read_or_library(text: TextFile) -> Conversion:
    """Read a problem that maximises x'Qx, as in the OR-Library, in the same layout.

    Raises:
        ProblemFileError: the file has another form.
    """
    return _read(text, "maximise")


def _read(text: TextFile, sense: Sense) -> Conversion:
    rows = text.rows()
    n, count = read_sizes(text, next(rows, None))
    pairs, weights = read_entries(text, rows, n, count, first=1)
    # An entry off the diagonal stands for two terms of x'Qx.
    weights[pairs[:, 0] != pairs[:, 1]] *= 2
    return converted(sense, range(1, n + 1), np.zeros(n), pairs, weights, 0.0)
