"""Read travelling salesman problems of TSPLIB as assignments of cities to places in a tour."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...conversions.conversion import Conversion
from ..parsing.text import TextFile, shown
from .assignment import assignments, check_pairs
from .tsplib_distances import COORDINATES, TRIANGLES, distances_of, full_matrix

KINDS = (b"TSP", b"ATSP")
"""Types of problems that can be read."""

KEYS = (b"TYPE", b"DIMENSION", b"EDGE_WEIGHT_TYPE", b"EDGE_WEIGHT_FORMAT")
"""Keywords that define the problem."""

SILENT_KEYS = (b"NAME", b"COMMENT", b"NODE_COORD_TYPE", b"DISPLAY_DATA_TYPE", b"CAPACITY")
"""Keywords that do not concern distances."""

NUMBER_BYTES = 2
"""Least number of bytes of a number, "1" and its end."""


def read_tsplib(text: TextFile) -> Conversion:
    """Read a problem that minimises the length of a tour through all cities.

    The variable (c, p) is 1 if city c is at place p of the tour. The first city is at place 1, and
    has no variables. The constraints are those of an assignment.

    Raises:
        ProblemFileError: the file has another form, or distances that cannot be read.

    References:
        Reinelt (1991), TSPLIB: a traveling salesman problem library.
    """
    lines = text.lines(b"#")
    keys, section = _specification(text, lines)
    if keys.get(b"TYPE", b"") not in KINDS:
        raise text.error(f"the TYPE must be TSP or ATSP; it is {shown(keys.get(b'TYPE', b''))}")
    n = text.integer(keys.get(b"DIMENSION", b""), "the DIMENSION", 3, 2**31)
    text.check_claim(n, n, NUMBER_BYTES)
    check_pairs(text, n**3)
    names, distances = _distances(text, lines, keys, section, n)
    return _tour(names, distances)


def _specification(text: TextFile, lines: Iterator[bytes]) -> tuple[dict[bytes, bytes], bytes]:
    """Return the values of the keywords, and the name of the section behind them."""
    keys: dict[bytes, bytes] = {}
    for line in lines:
        key, _, value = line.partition(b":")
        key = key.strip().upper()
        if key.endswith(b"_SECTION"):
            return keys, key
        if key in keys:
            raise text.error(f"the keyword {shown(key)} comes twice")
        if key in KEYS:
            keys[key] = value.split(b"#", 1)[0].strip().upper()
        elif key not in SILENT_KEYS:
            raise text.error(f"the keyword {shown(key)} is unknown")
    raise text.error("the file ends before NODE_COORD_SECTION and EDGE_WEIGHT_SECTION")


def _distances(
    text: TextFile, lines: Iterator[bytes], keys: dict[bytes, bytes], section: bytes, n: int
) -> tuple[list[int], np.ndarray]:
    """Return the names of the cities, and their distances `[n, n]`."""
    kind = keys.get(b"EDGE_WEIGHT_TYPE", b"")
    if kind == b"EXPLICIT":
        layout = keys.get(b"EDGE_WEIGHT_FORMAT", b"")
        if layout not in TRIANGLES and layout != b"FULL_MATRIX":
            raise text.error(f"the EDGE_WEIGHT_FORMAT {shown(layout)} cannot be read")
        while section != b"EDGE_WEIGHT_SECTION":
            section = _next_section(text, lines)
        return list(range(1, n + 1)), full_matrix(text, _numbers(text, lines), layout, n)
    if kind not in COORDINATES:
        raise text.error(f"the EDGE_WEIGHT_TYPE {shown(kind)} cannot be read")
    if section != b"NODE_COORD_SECTION":
        raise text.error(f"expected NODE_COORD_SECTION; got {shown(section)}")
    names, coordinates = _coordinates(text, lines, n)
    return names, distances_of(kind, coordinates)


def _next_section(text: TextFile, lines: Iterator[bytes]) -> bytes:
    """Return the name of the next section."""
    for line in lines:
        name = line.rstrip(b" :").upper()
        if name.endswith(b"_SECTION"):
            return name
    raise text.error("the file ends before EDGE_WEIGHT_SECTION")


def _numbers(text: TextFile, lines: Iterator[bytes]) -> Iterator[float]:
    """Yield the numbers of a section."""
    for line in lines:
        for word in line.split():
            if word[:1].isalpha():
                return
            yield text.number(word, "a distance")


def _coordinates(text: TextFile, lines: Iterator[bytes], n: int) -> tuple[list[int], np.ndarray]:
    """Return the names of the cities, and their coordinates `[n, 2]`."""
    names: dict[int, list[float]] = {}
    for line in lines:
        words = line.split()
        if words[0] in (b"EOF", b"-1"):
            break
        if len(words) != 3:
            raise text.error(f"expected 'city x y'; the line has {len(words)} words")
        city = text.integer(words[0], "a city", 0, 2**62)
        if city in names:
            raise text.error(f"the city {city} comes twice")
        names[city] = [text.number(word, "a coordinate") for word in words[1:]]
    if len(names) != n:
        raise text.error(f"the DIMENSION is {n}, and the file has {len(names)} cities")
    return list(names), np.array(list(names.values()))


def _tour(names: list[int], distances: np.ndarray) -> Conversion:
    """Return the problem of the shortest tour."""
    n = len(names)
    others = n - 1
    linear = np.zeros((others, others))
    linear[:, 0] += distances[0, 1:]
    linear[:, -1] += distances[1:, 0]
    city, next_city = np.nonzero(~np.eye(others, dtype=bool))
    place = np.arange(others - 1)[:, None]
    ends = (city * others + place, next_city * others + place + 1)
    pairs = np.stack([end.ravel() for end in ends], axis=-1)
    weights = np.tile(distances[1:, 1:][city, next_city], others - 1)
    return assignments(names[1:], range(2, n + 1), linear.ravel(), pairs, weights)
