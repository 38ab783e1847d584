"""Find labels that may be exchanged in all variables without a change of any score."""

from __future__ import annotations

import numpy as np

from ..whole_scores import WholeScores

MOST_ENTRIES = 1 << 26
"""Maximum entries of tables to compare; larger problems count as without alike labels."""


def alike_labels(scores: WholeScores) -> np.ndarray:
    """Return `[k]`: the first label with which each label may be exchanged, which may be itself.

    Exchanging any two labels with the same first label in all variables keeps every score.
    """
    columns = np.ascontiguousarray(scores.unary.T)
    first_of: dict[bytes, int] = {}
    alike = np.array([first_of.setdefault(row.tobytes(), a) for a, row in enumerate(columns)])
    tables = scores.tables.tables
    if len(alike) * tables.size > MOST_ENTRIES:
        return np.arange(len(alike))
    for a, first in enumerate(alike.tolist()):
        if a != first and not _exchanged(tables, a, first):
            alike[a] = a
    return alike


def _exchanged(tables: np.ndarray, a: int, b: int) -> bool:
    """Return whether tables `[t, k, k]` stay the same if two labels are exchanged."""
    order = np.arange(tables.shape[1])
    order[[a, b]] = b, a
    return bool((tables[:, order[:, None], order] == tables).all())
