"""Places at which the kernels of enumeration keep the coefficients of a problem."""

from __future__ import annotations

import numpy as np

from ...arrays import Edges

MAX_VARIABLES = 25
"""Largest number of variables."""


def positions_of(n: int, edges: Edges) -> np.ndarray:
    """Return the places `[n + e]` of the coefficients in the flattened matrix of weights."""
    diagonal = np.arange(n)
    rows, columns = np.concatenate((np.stack((diagonal, diagonal)), edges.T[::-1]), axis=1)
    positions: np.ndarray = (rows * MAX_VARIABLES + columns).astype(np.uint64)
    return positions
