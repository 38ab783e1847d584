"""Turning stored intensities into the values that the decoder has to explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Binarise = Callable[[NDArray[Any], int], NDArray[np.float32 | np.uint8]]
"""(intensities, number of the split) -> values of the same shape; splits differ in what is drawn for them."""

STATIC_SEED: Final = 2008
"""Of the static draw. A constant, so that it makes one data set, the same for every run."""

DRAWN_TOGETHER: Final = 1_000
"""Images of a draw at a time, which bounds memory."""


@dataclass(frozen=True)
class Binarisation:
    """What is made of stored intensities.

    Attributes:
        binarise: gives the images that are evaluated, and trained on unless they are drawn anew.
        redrawn: whether training draws its images anew, at every step.
    """

    binarise: Binarise
    redrawn: bool = False


def threshold(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """1 where `grey / 255 > 0.5`, else 0, in the shape of `grey`.

    Args:
        grey: intensities in 0..255, or floats in [0, 1], any shape.
        split: makes no difference.

    References:
        Lorberbom, Gane, Jaakkola and Hazan (2019), "Direct optimization through argmax for
        discrete variational auto-encoder": the authors' release thresholds at 0.5.

    Example:
        >>> threshold(np.array([0, 127, 128, 255], np.uint8))
        array([0., 0., 1., 1.], dtype=float32)
    """
    binary = np.empty(grey.shape, np.float32)
    # v / 255 > 0.5 means v > 127.5, so v > 127 for integers; `out` saves a boolean copy.
    np.greater(grey, np.uint8(127) if grey.dtype == np.uint8 else np.float32(0.5), out=binary)
    return binary


def static(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """`[count, ...]`: one Bernoulli draw a pixel, 1 with probability `grey / 255`, always the same one.

    It depends on the intensities and the split alone. It is a draw like Salakhutdinov and Murray's
    of MNIST, not theirs bit for bit.

    Args:
        grey: `[count, ...]`, intensities in 0..255.
        split: 0 for train, 1 for validation, 2 for test.

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


def none(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """`grey / 255`, in the shape of `grey`: values in [0, 1], not binarised.

    Args:
        grey: intensities in 0..255, or floats in [0, 1], which stay as they are; any shape.
        split: makes no difference.

    Example:
        >>> none(np.array([0, 51, 255], np.uint8))
        array([0. , 0.2, 1. ], dtype=float32)
    """
    if grey.dtype == np.float32:
        return np.asarray(grey, np.float32)
    return np.divide(grey, np.float32(255), dtype=np.float32)


def as_stored(images: NDArray[np.uint8], split: int = 0) -> NDArray[np.uint8]:
    """`images` themselves, in steps of 1/255: what is mapped from a file stays there.

    Args:
        images: intensities in 0..255, any shape.
        split: makes no difference.
    """
    return images


BINARISATIONS: Final[Mapping[str, Binarisation]] = MappingProxyType(
    {
        "threshold": Binarisation(threshold),
        "static": Binarisation(static),
        "dynamic": Binarisation(static, redrawn=True),
        "none": Binarisation(none),
    }
)
"""What `load_dataset` knows, by name."""

MAPPED: Final[Mapping[str, Binarisation]] = MappingProxyType({"none": Binarisation(as_stored)})
"""What there is for images that do not fit into memory."""


def binarisation_names() -> tuple[str, ...]:
    """The names that `load_dataset` takes as `binarisation`.

    Example:
        >>> binarisation_names()
        ('threshold', 'static', 'dynamic', 'none')
    """
    return tuple(BINARISATIONS)
