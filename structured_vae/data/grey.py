"""Grey images as they are stored, before any binarisation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GreySplit:
    """Grey images with their labels.

    Attributes:
        images: grey values in 0..255, uint8 [count, height, width].
        labels: classes, uint8 [count].
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class GreyDataset:
    """The three splits of a dataset, all with the same height and width."""

    train: GreySplit
    validation: GreySplit
    test: GreySplit
