"""A dataset as its files store it, and the reader that loads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .binarisation import BINARISATIONS, Binarisation


@dataclass(frozen=True, eq=False)
class StoredSplit:
    """Images as they are stored, with their labels.

    Attributes:
        images: intensities in 0..255, uint8 `[count, height, width]`, or in colour
            `[count, channels, height, width]`; or float32 in [0, 1].
        labels: classes, `[count]`; or attributes, 0 or 1, `[count, attributes]`.
    """

    images: NDArray[np.uint8 | np.float32]
    labels: NDArray[np.uint8 | np.int64]


@dataclass(frozen=True, eq=False)
class StoredDataset:
    """Three splits that share no image; all images have one size.

    Attributes:
        train: images to train on.
        validation: images to choose settings with.
        test: images to report results on.
        attributes: the names of the columns of the labels; empty if the labels are classes.
    """

    train: StoredSplit
    validation: StoredSplit
    test: StoredSplit
    attributes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        *channels, height, width = self.train.images.shape[1:]
        return math.prod(channels), height, width


@dataclass(frozen=True)
class Reader:
    """A dataset that can be loaded by its name.

    Attributes:
        read: reads the dataset, from the root that `load_dataset` takes.
        binarisations: the binarisations that its images allow, by name; the first is the default.
        shown: whether pictures written during training may show its images; False if their terms
            forbid redistribution.

    Example:
        >>> from structured_vae.data.in_memory import images_in_memory
        >>> images = np.random.default_rng(0).integers(0, 256, (10, 4, 4), np.uint8)
        >>> reader = Reader(lambda root: images_in_memory(images))
        >>> reader.read(None).size
        (1, 4, 4)
    """

    read: Callable[[str | Path | None], StoredDataset]
    binarisations: Mapping[str, Binarisation] = field(default_factory=lambda: BINARISATIONS)
    shown: bool = True
