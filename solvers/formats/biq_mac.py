"""Biq Mac and OR-Library files: a header "n m" and the entries of one triangle of a symmetric matrix."""

from __future__ import annotations

import numpy as np

from ..conversions.conversion import Conversion, Sense, converted
from .entries import read_entries, read_sizes
from .text import TextFile


def read_biq_mac(text: TextFile) -> Conversion:
    """From x'Qx, minimised: the signs of the Biq Mac Library.

    Raises:
        ProblemFileError: another form.
    """
    return _read(text, "minimise")


def read_or_library(text: TextFile) -> Conversion:
    """From x'Qx, maximised: the signs of the OR-Library, in the same layout.

    Raises:
        ProblemFileError: another form.
    """
    return _read(text, "maximise")


def _read(text: TextFile, sense: Sense) -> Conversion:
    rows = text.rows()
    n, count = read_sizes(text, next(rows, None))
    pairs, weights = read_entries(text, rows, n, count, first=1)
    # an entry off the diagonal stands for two of x'Qx
    weights[pairs[:, 0] != pairs[:, 1]] *= 2
    return converted(sense, range(1, n + 1), np.zeros(n), pairs, weights, 0.0)
