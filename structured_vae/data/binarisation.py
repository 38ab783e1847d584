"""Turning grey images into the values that the decoder has to explain."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Binarisation = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


def threshold(grey: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return 1 where `grey / 255 > 0.5`, else 0.

    Args:
        grey: grey values in 0..255, any shape.

    Returns:
        Values in {0, 1}, of the same shape.

    References:
        Lorberbom, Gane, Jaakkola and Hazan (2019), "Direct optimization through argmax for
        discrete variational auto-encoder": the authors' release thresholds at 0.5.

    Example:
        >>> threshold(np.array([0, 127, 128, 255], np.uint8))
        array([0., 0., 1., 1.], dtype=float32)
    """
    binary = np.empty(grey.shape, np.float32)
    # v / 255 > 0.5 means v > 127.5, so v > 127 for integers; `out` saves a boolean copy.
    np.greater(grey, np.uint8(127), out=binary)
    return binary


def none(grey: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the grey values scaled to [0, 1], without binarising them.

    Args:
        grey: grey values in 0..255, any shape.

    Returns:
        `grey / 255`, of the same shape.

    Example:
        >>> none(np.array([0, 51, 255], np.uint8))
        array([0. , 0.2, 1. ], dtype=float32)
    """
    return np.divide(grey, np.float32(255), dtype=np.float32)


BINARISATIONS: Mapping[str, Binarisation] = MappingProxyType({"threshold": threshold, "none": none})


def binarisation_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` takes as `binarisation`.

    Example:
        >>> binarisation_names()
        ('threshold', 'none')
    """
    return tuple(BINARISATIONS)
