"""Read lists of edges without a header for the maximum cut, such as `.el` and `.wel` files."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import numpy as np

from ...conversions.conversion import Conversion
from ...conversions.graph.cuts import from_max_cut
from ..parsing.text import INTEGER, TextFile


def read_edges(text: TextFile) -> Conversion:
    """Read a maximum cut problem from lines "u v weight", or "u v" for a weight of 1.

    Vertices have any names without blanks. If all names are whole numbers, the vertices come in
    numerical order. Parallel edges add up, and loops are never cut.

    Raises:
        ProblemFileError: the file has another form.
    """
    places: dict[bytes, int] = {}
    ends = array("q")
    weights = array("d")
    width = 0
    for row in text.rows():
        width = width or len(row)
        if len(row) != width or width not in (2, 3):
            raise text.error(
                "expected 'u v' in every line, or 'u v weight' in every line; the line has "
                f"{len(row)} words"
            )
        ends.extend(places.setdefault(word, len(places)) for word in row[:2])
        weight = 1.0
        if width == 3:
            weight = text.number(row[2], "the weight")
        weights.append(weight)
    if not places:
        raise text.error("the file has no edges; expected lines 'u v' or 'u v weight'")
    names = _names(text, list(places))
    order = list(range(len(names)))
    # Numbered vertices come in numerical order, and others in the order of the file.
    if isinstance(names[0], int):
        order.sort(key=names.__getitem__)
    rank = np.argsort(order)
    pairs = rank[np.asarray(ends, np.int64).reshape(-1, 2)]
    conversion = from_max_cut(len(names), pairs, np.asarray(weights))
    return replace(conversion, names=[names[place] for place in order])


def _names(text: TextFile, words: list[bytes]) -> list[Any]:
    """Return the words as whole numbers if all are different numbers, or else as strings."""
    if all(map(INTEGER.fullmatch, words)):
        numbers = [int(word) for word in words]
        if len(set(numbers)) == len(words):
            return numbers
    return [text.name(word) for word in words]
