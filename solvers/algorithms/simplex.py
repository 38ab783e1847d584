"""A linear program over variables from 0 to 1 that HiGHS solves again after each change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..limits.deadline import uncounted


class Simplex(NamedTuple):
    """A linear program without rows.

    Attributes:
        module: the package `highspy`.
        highs: the program, of type `highspy.Highs`.
        unit: the weight that counts as 1 in the program.
    """

    module: Any
    highs: Any
    unit: float


def simplex_of(weights: np.ndarray) -> Simplex:
    """Return the program that maximises `weights @ x` over x in [0, 1]^m.

    Args:
        weights: `[m]`, whole.
    """
    with uncounted():
        import highspy  # slow to import

    highs = highspy.Highs()
    # The simplex method without presolve resumes from its last basis.
    options: dict[str, bool | int | str] = {
        "output_flag": False,
        "presolve": "off",
        "solver": "simplex",
        "threads": 1,
        "parallel": "off",
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    # HiGHS minimises. In units of the largest weight, its absolute tolerances fit.
    unit = float(np.abs(weights).max(initial=1))
    m = len(weights)
    nothing = np.empty(0, np.int32)
    highs.addCols(m, -weights / unit, np.zeros(m), np.ones(m), 0, nothing, nothing, np.empty(0))
    return Simplex(highspy, highs, unit)
