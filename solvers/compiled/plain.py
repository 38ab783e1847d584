"""Arrays as kernels want them, so that each is compiled for one layout."""

from __future__ import annotations

import numpy as np


def plain(array: np.ndarray) -> np.ndarray:
    """`array` in C order, aligned and writeable: itself where it is, else a copy."""
    if array.flags.carray:
        return array
    return np.require(array, requirements=["C", "A", "W"])
