"""Tables of the named comparisons of two variables in toulbar2's wcsp format.

References:
    toulbar2's user documentation, section "WCSP format", arithmetic cost functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

DIFFERENCE = ("constant", "largest violation")
"""The numbers of a comparison of x with y + constant."""

COMPARISONS: Mapping[str, Sequence[str]] = {
    ">=": DIFFERENCE,
    ">": DIFFERENCE,
    "<=": DIFFERENCE,
    "<": DIFFERENCE,
    "=": DIFFERENCE,
    "disj": ("distance of x", "distance of y", "penalty"),
    "sdisj": ("distance of x", "distance of y", "last x", "last y", "cost of x", "cost of y"),
}
"""The numbers of each cost function, by its name."""


def comparison_table(name: str, numbers: Sequence[int], rows: int, columns: int) -> np.ndarray:
    """Return the costs `[rows, columns]` of the values of two variables x and y.

    Args:
        name: a key of `COMPARISONS`.
        numbers: the numbers of the cost function.
        rows: number of values of x.
        columns: number of values of y.
    """
    x = np.arange(rows, dtype=np.float64)[:, None]
    y = np.arange(columns, dtype=np.float64)[None, :]
    if name == "disj":
        return np.where(_apart(x, y, numbers), 0.0, float(numbers[2]))
    if name == "sdisj":
        return _scheduled(x, y, numbers)
    constant, largest = numbers
    violations = {
        ">=": y + constant - x,
        ">": y + constant + 1 - x,
        "<=": x - constant - y,
        "<": x - constant + 1 - y,
        "=": np.abs(y + constant - x),
    }
    costs = np.maximum(violations[name], 0.0)
    return np.where(violations[name] > largest, math.inf, costs)


def _apart(x: np.ndarray, y: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """Return which values of one variable are far enough behind those of the other."""
    apart: np.ndarray = (x >= y + numbers[1]) | (y >= x + numbers[0])
    return apart


def _scheduled(x: np.ndarray, y: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """Return the costs of dropped values; other values must be far enough apart."""
    _, _, last_x, last_y, cost_x, cost_y = numbers
    dropped_x = x == last_x
    dropped_y = y == last_y
    costs = np.where(dropped_x, float(cost_x), 0.0) + np.where(dropped_y, float(cost_y), 0.0)
    return np.where(_apart(x, y, numbers) | dropped_x | dropped_y, costs, math.inf)
