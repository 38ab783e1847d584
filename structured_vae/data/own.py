"""The user's own images, from an .npz file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataNotFoundError
from .files.npz import read_npz
from .in_memory import checked_images, checked_labels, whole
from .reader import StoredDataset, StoredSplit
from .splits import SPLITS

WAY: Final = (
    "To provide your own images, call numpy.savez(FILE, train_images=..., "
    "validation_images=..., test_images=...), each uint8 or float in [0, 1], of shape "
    "[count, height, width], or in colour [count, height, width, 3]"
)


KINDS: Final = ("images", "labels")
"""The arrays of each split."""


def read_own(file: str | Path) -> StoredDataset:
    """Read the images of an .npz file.

    The file holds `train_images`, `validation_images` and `test_images`, which share no image:
    uint8 or floats in [0, 1], `[count, height, width]` or in colour `[count, height, width, 3]`.
    It may hold all three of `train_labels`, `validation_labels` and `test_labels`, integers
    `[count]` from 0. Without labels every image has the label 0.

    Args:
        file: a file made by `numpy.savez` or `numpy.savez_compressed`.

    Raises:
        DataNotFoundError: there is no such file.
        DataError: the file is damaged, or has other arrays.
    """
    file = Path(file)
    try:
        if not file.is_file():
            raise DataNotFoundError(f"there is no file {file.absolute()}. {WAY}")
        return _dataset(read_npz(file, [f"{split}_{kind}" for split in SPLITS for kind in KINDS]))
    except DataNotFoundError:
        raise
    except (DataError, OSError, ValueError) as error:
        message = str(error)
        if str(file) not in message:
            message = f"{file}: {message}"
        raise DataError(f"{message}. {WAY}") from error


def _dataset(arrays: Mapping[str, NDArray[Any]]) -> StoredDataset:
    absent = [name for split in SPLITS if (name := f"{split}_labels") not in arrays]
    if 0 < len(absent) < len(SPLITS):
        raise ValueError(
            f"either all splits or none must have labels; missing: {', '.join(absent)}"
        )
    return whole({split: _split(arrays, split) for split in SPLITS})


def _split(arrays: Mapping[str, NDArray[Any]], split: str) -> StoredSplit:
    if f"{split}_images" not in arrays:
        raise ValueError(f"there is no array {split}_images")
    images = arrays[f"{split}_images"]
    if images.ndim < 3:
        raise ValueError(f"{split}_images has the shape {list(images.shape)}")
    images = checked_images(images, f"{split}_images")
    labels = arrays.get(f"{split}_labels", np.zeros(len(images), np.int64))
    return StoredSplit(images, checked_labels(labels, len(images), split))
