"""Ways to turn stored intensities into the values that the decoder reconstructs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Binarise = Callable[[NDArray[Any], int], NDArray[np.float32 | np.uint8]]
"""(intensities, split number) -> values of the same shape; each split has its own random draw."""

STATIC_SEED: Final = 2008
"""Seed of the static draw. It is constant, so that every run sees the same data set."""

DRAWN_TOGETHER: Final = 1_000
"""Number of images drawn at a time, which bounds memory."""


@dataclass(frozen=True)
class Binarisation:
    """A way to turn stored intensities into images for training and evaluation.

    Attributes:
        binarise: returns the images for evaluation, and for training unless `redrawn` is True.
        redrawn: whether training draws its images again at every step.
    """

    binarise: Binarise
    redrawn: bool = False


def threshold(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """Return 1 where `grey / 255 > 0.5` and 0 elsewhere, in the shape of `grey`.

    Args:
        grey: intensities in 0..255, or floats in [0, 1], any shape.
        split: ignored.

    References:
        Lorberbom, Gane, Jaakkola and Hazan (2019), "Direct optimization through argmax for
        discrete variational auto-encoder": the authors' release thresholds at 0.5.

    Example:
        >>> threshold(np.array([0, 127, 128, 255], np.uint8))
        array([0., 0., 1., 1.], dtype=float32)
    """
    limit: np.uint8 | np.float32 = np.float32(0.5)
    if grey.dtype == np.uint8:
        limit = np.uint8(127)  # v / 255 > 0.5 means v > 127.5, so v > 127 for integers
    binary = np.empty(grey.shape, np.float32)
    np.greater(grey, limit, out=binary)  # `out` saves a boolean copy
    return binary


def static(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """Draw each pixel once: 1 with probability `grey / 255`, in the shape of `grey`.

    The draw depends only on the intensities and the split, so every run gets the same images. It
    follows the recipe of Salakhutdinov and Murray for MNIST, but differs from their draw bit by
    bit.

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
        rows = slice(start, start + DRAWN_TOGETHER)
        uniform = random.random(grey[rows].shape, np.float32)
        np.greater(none(grey[rows]), uniform, out=binary[rows])
    return binary


def none(grey: NDArray[np.uint8 | np.float32], split: int = 0) -> NDArray[np.float32]:
    """Return `grey / 255`, in the shape of `grey`: values in [0, 1], not binarised.

    Args:
        grey: intensities in 0..255, or floats in [0, 1], which are returned unchanged; any shape.
        split: ignored.

    Example:
        >>> none(np.array([0, 51, 255], np.uint8))
        array([0. , 0.2, 1. ], dtype=float32)
    """
    if grey.dtype == np.float32:
        return np.asarray(grey, np.float32)
    return np.divide(grey, np.float32(255), dtype=np.float32)


def as_stored(images: NDArray[np.uint8], split: int = 0) -> NDArray[np.uint8]:
    """Return `images` unchanged, in steps of 1/255; a memory-mapped array stays mapped.

    Args:
        images: intensities in 0..255, any shape.
        split: ignored.
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
"""The binarisations that `load_dataset` accepts, by name."""

MAPPED: Final[Mapping[str, Binarisation]] = MappingProxyType({"none": Binarisation(as_stored)})
"""The binarisations for images that do not fit into memory."""


def binarisation_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` accepts as `binarisation`.

    Example:
        >>> binarisation_names()
        ('threshold', 'static', 'dynamic', 'none')
    """
    return tuple(BINARISATIONS)
