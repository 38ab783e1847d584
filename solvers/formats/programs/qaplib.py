"""Read quadratic assignment problems of QAPLIB: n, and two matrices."""

from __future__ import annotations

import numpy as np

from ...conversions.conversion import Conversion
from ..parsing.text import TextFile
from .assignment import assignments, check_pairs

NUMBER_BYTES = 2
"""Least number of bytes of an entry of a matrix, "1" and its end."""


def read_qaplib(text: TextFile) -> Conversion:
    """Read a problem that assigns facilities to locations and minimises sum_ij A_ij B_p(i)p(j).

    The variable (i, k) is 1 if facility i is at location k. Both are numbered from 1, and A is the
    first matrix. The constraints are those of an assignment.

    Raises:
        ProblemFileError: the file has another form.

    References:
        Burkard, Karisch and Rendl (1997), QAPLIB: a quadratic assignment problem library.
    """
    words = text.words()
    n = text.integer(next(words, b""), "n", 1, 2**31)
    text.check_claim(n * n, 2 * n * n, NUMBER_BYTES)
    numbers = [text.number(word, "an entry") for word in words]
    if len(numbers) != 2 * n * n:
        raise text.error(
            f"two matrices of {n} rows have {2 * n * n} entries, and the file has {len(numbers)}"
        )
    flows, distances = np.array(numbers).reshape(2, n, n)
    first, second = np.nonzero(np.triu((flows != 0) | (flows.T != 0), 1))
    check_pairs(text, len(first) * n * (n - 1))
    here, there = np.nonzero(~np.eye(n, dtype=bool))
    rising = np.multiply.outer(flows[first, second], distances[here, there])
    falling = np.multiply.outer(flows[second, first], distances[there, here])
    ends = (np.add.outer(first * n, here), np.add.outer(second * n, there))
    pairs = np.stack([end.ravel() for end in ends], axis=-1)
    linear = np.multiply.outer(flows.diagonal(), distances.diagonal()).ravel()
    numbered = range(1, n + 1)
    return assignments(numbered, numbered, linear, pairs, (rising + falling).ravel())
