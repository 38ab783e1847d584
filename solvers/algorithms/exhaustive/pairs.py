"""Keep the pairs of a problem in the form that the kernels of enumeration read."""

from __future__ import annotations

from ...arrays import Edges
from ...compiled._kernels import exhaustive as kernels

MAX_VARIABLES = 25
"""Largest number of variables."""


def pairs_of(n: int, edges: Edges) -> kernels.Pairs:
    """Return the checked pairs of at most `MAX_VARIABLES` variables, for many calls."""
    return kernels.Pairs(n, edges)
