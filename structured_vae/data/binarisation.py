"""Turning grey images into the values that the decoder has to explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Binarise = Callable[[NDArray[np.uint8], int], NDArray[np.float32]]
"""(grey values, number of the split) -> values in [0, 1]; splits differ in what is drawn for them."""

STATIC_SEED = 2008
"""Of the static draw. A constant, so that it makes one data set, the same for every run."""

DRAWN_TOGETHER = 1_000
"""Images of a draw at a time, which bounds memory."""


@dataclass(frozen=True)
class Binarisation:
    """What is made of grey values.

    Attributes:
        binarise: gives the images that are evaluated, and trained on unless they are drawn anew.
        redrawn: whether training draws its images anew, at every step.
    """

    binarise: Binarise
    redrawn: bool = False


def threshold(grey: NDArray[np.uint8], split: int = 0) -> NDArray[np.float32]:
    """Return 1 where `grey / 255 > 0.5`, else 0.

    Args:
        grey: grey values in 0..255, any shape.
        split: makes no difference.

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


def static(grey: NDArray[np.uint8], split: int = 0) -> NDArray[np.float32]:
    """Return one Bernoulli draw a pixel, 1 with probability `grey / 255`, always the same one.

    It depends on the grey values and the split alone. It is a draw like Salakhutdinov and Murray's of MNIST,
    not theirs bit for bit.

    Args:
        grey: grey values in 0..255, [count, ...].
        split: 0 for train, 1 for validation, 2 for test.

    Returns:
        Values in {0, 1}, of the same shape.

    References:
        Salakhutdinov and Murray (2008), "On the quantitative analysis of deep belief networks".

    Example:
        >>> static(np.array([[0, 255], [0, 255]], np.uint8))
        array([[0., 1.],
               [0., 1.]], dtype=float32)
    """
    random = np.random.default_rng([STATIC_SEED, split])
    binary = np.empty(grey.shape, np.float32)
    for start in range(0, len(grey), DRAWN_TOGETHER):
        part = slice(start, start + DRAWN_TOGETHER)
        np.greater(none(grey[part]), random.random(grey[part].shape, np.float32), out=binary[part])
    return binary


def none(grey: NDArray[np.uint8], split: int = 0) -> NDArray[np.float32]:
    """Return the grey values scaled to [0, 1], without binarising them.

    Args:
        grey: grey values in 0..255, any shape.
        split: makes no difference.

    Returns:
        `grey / 255`, of the same shape.

    Example:
        >>> none(np.array([0, 51, 255], np.uint8))
        array([0. , 0.2, 1. ], dtype=float32)
    """
    return np.divide(grey, np.float32(255), dtype=np.float32)


BINARISATIONS: Mapping[str, Binarisation] = MappingProxyType(
    {
        "threshold": Binarisation(threshold),
        "static": Binarisation(static),
        "dynamic": Binarisation(static, redrawn=True),
        "none": Binarisation(none),
    }
)


def binarisation_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` takes as `binarisation`.

    Example:
        >>> binarisation_names()
        ('threshold', 'static', 'dynamic', 'none')
    """
    return tuple(BINARISATIONS)
