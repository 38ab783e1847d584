"""What a reader of a dataset gives, and what may be done with it."""

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
        labels: classes, `[count]`; or attributes, 0 or 1, `[count, n]`.
    """

    images: NDArray[np.uint8 | np.float32]
    labels: NDArray[np.uint8 | np.int64]


@dataclass(frozen=True, eq=False)
class StoredDataset:
    """Three splits that share no image, all images being of one size.

    Attributes:
        train: images to train on.
        validation: images to choose settings with.
        test: images to report results on.
        attributes: the names of the columns of the labels; empty where the labels are classes.
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
        read: gives the dataset, from the root that `load_dataset` takes.
        binarisations: what may be made of its images, by name; the first is the usual one.
        shown: whether pictures of a training may show images; not where their terms forbid passing
            them on.
    """

    read: Callable[[str | Path | None], StoredDataset]
    binarisations: Mapping[str, Binarisation] = field(default_factory=lambda: BINARISATIONS)
    shown: bool = True
