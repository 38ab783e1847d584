"""Images of the user's own, from an .npz file."""

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
    "To provide images of your own: numpy.savez(FILE, train_images=..., validation_images=..., test_images=...), "
    "each uint8 or float in [0, 1], [count, height, width], or in colour [count, height, width, 3]"
)


def read_own(file: str | Path) -> StoredDataset:
    """The images of an .npz file.

    It holds `train_images`, `validation_images` and `test_images`, which share no image, uint8 or
    floats in [0, 1], `[count, height, width]` or in colour `[count, height, width, 3]`, and perhaps
    `train_labels`, `validation_labels` and `test_labels`, all three, integers `[count]` from 0.
    Without labels every image has the label 0.

    Args:
        file: made by `numpy.savez` or `numpy.savez_compressed`.

    Raises:
        DataNotFoundError: there is no such file.
        DataError: it is damaged, or has other arrays.
    """
    file = Path(file)
    try:
        if not file.is_file():
            raise DataNotFoundError(f"there is no file {file.absolute()}. {WAY}")
        arrays = read_npz(
            file, (f"{split}_{part}" for split in SPLITS for part in ("images", "labels"))
        )
        absent = [name for split in SPLITS if (name := f"{split}_labels") not in arrays]
        if 0 < len(absent) < len(SPLITS):
            raise ValueError(
                f"labels of all splits or of none are needed; missing: {', '.join(absent)}"
            )
        splits = {split: _split(arrays, split) for split in SPLITS}
        return whole(splits)
    except DataNotFoundError:
        raise
    except DataError as error:
        named = str(error) if str(file) in str(error) else f"{file}: {error}"
        raise DataError(f"{named}. {WAY}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: {error}. {WAY}") from error


def _split(arrays: Mapping[str, NDArray[Any]], split: str) -> StoredSplit:
    if f"{split}_images" not in arrays:
        raise ValueError(f"there is no array {split}_images")
    images = arrays[f"{split}_images"]
    if images.ndim < 3:
        raise ValueError(f"{split}_images is {images.dtype} {list(images.shape)}")
    images = checked_images(images, f"{split}_images")
    labels = arrays.get(f"{split}_labels", np.zeros(len(images), np.int64))
    return StoredSplit(images, checked_labels(labels, len(images), split))
