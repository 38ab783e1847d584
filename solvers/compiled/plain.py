"""Convert arrays to the one layout that kernels are compiled for."""

from __future__ import annotations

import numpy as np


def plain(array: np.ndarray) -> np.ndarray:
    """Return `array` in C order, aligned and writeable, without a copy where it already is."""
    if array.flags.carray:
        return array
    return np.require(array, requirements=["C", "A", "W"])
