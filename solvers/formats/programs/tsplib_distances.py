"""Compute TSPLIB distances from coordinates, and from matrices in several layouts.

References:
    Reinelt (1995), TSPLIB 95, section 2: the distance functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import numpy as np

from ..parsing.text import TextFile

PI = 3.141592
"""Value of pi in the definition of geographical distances."""

RADIUS = 6378.388
"""Radius of the earth in kilometres in that definition."""

TRIANGLES: Mapping[bytes, tuple[bool, int]] = {
    b"UPPER_ROW": (True, 1),
    b"LOWER_COL": (True, 1),
    b"LOWER_ROW": (False, 1),
    b"UPPER_COL": (False, 1),
    b"UPPER_DIAG_ROW": (True, 0),
    b"LOWER_DIAG_COL": (True, 0),
    b"LOWER_DIAG_ROW": (False, 0),
    b"UPPER_DIAG_COL": (False, 0),
}
"""Whether a layout has the rows of the upper triangle, and its first diagonal, by name."""


def full_matrix(text: TextFile, numbers: Iterable[float], layout: bytes, n: int) -> np.ndarray:
    """Return the distances `[n, n]` of a layout.

    Args:
        text: the file.
        numbers: the numbers of the section.
        layout: "FULL_MATRIX", or a name of `TRIANGLES`.
        n: number of cities.

    Raises:
        ProblemFileError: the section has another number of values.
    """
    rows, columns = np.divmod(np.arange(n * n), n)
    if layout in TRIANGLES:
        upper, diagonal = TRIANGLES[layout]
        if upper:
            rows, columns = np.triu_indices(n, diagonal)
        else:
            rows, columns = np.tril_indices(n, -diagonal)
    listed = list(islice(numbers, len(rows) + 1))
    if len(listed) != len(rows):
        many = str(len(listed))
        if len(listed) > len(rows):
            many = "more"
        raise text.error(f"{n} cities have {len(rows)} distances here, and the file has {many}")
    matrix = np.zeros((n, n))
    if layout in TRIANGLES:
        matrix[columns, rows] = listed
    matrix[rows, columns] = listed
    return matrix


def distances_of(kind: bytes, coordinates: np.ndarray) -> np.ndarray:
    """Return the distances `[n, n]` of cities.

    Args:
        kind: a name of `COORDINATES`.
        coordinates: `[n, 2]`.
    """
    return COORDINATES[kind](coordinates)


def _differences(coordinates: np.ndarray) -> np.ndarray:
    """Return the differences `[n, n, 2]` of the coordinates."""
    differences: np.ndarray = np.abs(coordinates[:, None] - coordinates)
    return differences


def _straight(coordinates: np.ndarray) -> np.ndarray:
    length: np.ndarray = np.sqrt((_differences(coordinates) ** 2).sum(axis=-1))
    return length


def _nearest(values: np.ndarray) -> np.ndarray:
    """Return the nearest whole numbers, with halves rounded up."""
    whole: np.ndarray = np.floor(values + 0.5)
    return whole


def _pseudo_euclidean(coordinates: np.ndarray) -> np.ndarray:
    length = np.sqrt((_differences(coordinates) ** 2).sum(axis=-1) / 10)
    whole = _nearest(length)
    return np.where(whole < length, whole + 1, whole)


def _geographical(coordinates: np.ndarray) -> np.ndarray:
    """Return whole kilometres on a sphere; a coordinate of 12.34 means 12 degrees 34 minutes."""
    degrees = np.trunc(coordinates)
    radians = PI * (degrees + 5 * (coordinates - degrees) / 3) / 180
    latitude, longitude = radians.T
    q1 = np.cos(longitude[:, None] - longitude)
    q2 = np.cos(latitude[:, None] - latitude)
    q3 = np.cos(latitude[:, None] + latitude)
    cosine = np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1)
    whole: np.ndarray = np.trunc(RADIUS * np.arccos(cosine) + 1)
    return whole


COORDINATES: Mapping[bytes, Callable[[np.ndarray], np.ndarray]] = {
    b"EUC_2D": lambda xy: _nearest(_straight(xy)),
    b"CEIL_2D": lambda xy: np.ceil(_straight(xy)),
    b"MAN_2D": lambda xy: _nearest(_differences(xy).sum(axis=-1)),
    b"MAX_2D": lambda xy: _nearest(_differences(xy)).max(axis=-1),
    b"ATT": _pseudo_euclidean,
    b"GEO": _geographical,
}
"""Distances from coordinates, by the name of their kind."""
