"""Images of the user's own, from an .npz file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataNotFoundError
from .files.npz import read_npz
from .reader import StoredDataset, StoredSplit

SPLITS: Final = ("train", "validation", "test")

WAY: Final = (
    "To provide images of your own: numpy.savez(FILE, train_images=..., validation_images=..., test_images=...), "
    "each uint8 [count, height, width]"
)


def read_own(file: str | Path) -> StoredDataset:
    """The images of an .npz file.

    It holds `train_images`, `validation_images` and `test_images`, uint8 `[count, height, width]`, and perhaps
    `train_labels`, `validation_labels` and `test_labels`, all three, integers `[count]` from 0 to 255. Without
    labels every image has the label 0.

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
        arrays = read_npz(file, (f"{split}_{part}" for split in SPLITS for part in ("images", "labels")))
        absent = [name for split in SPLITS if (name := f"{split}_labels") not in arrays]
        if 0 < len(absent) < len(SPLITS):
            raise ValueError(f"labels of all splits or of none are needed; missing: {', '.join(absent)}")
        splits = {split: _split(arrays, split) for split in SPLITS}
        sizes = {name: split.images.shape[1:] for name, split in splits.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"the splits have images of different sizes: {sizes}")
    except DataNotFoundError:
        raise
    except DataError as error:  # which names the file
        raise DataError(f"{error}. {WAY}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: {error}. {WAY}") from error
    return StoredDataset(splits["train"], splits["validation"], splits["test"])


def _split(arrays: Mapping[str, NDArray[Any]], split: str) -> StoredSplit:
    if f"{split}_images" not in arrays:
        raise ValueError(f"there is no array {split}_images")
    images = arrays[f"{split}_images"]
    if images.dtype != np.uint8 or images.ndim != 3 or images.size == 0:
        raise ValueError(f"{split}_images is {images.dtype} {list(images.shape)}")
    labels = arrays.get(f"{split}_labels", np.zeros(len(images), np.uint8))
    whole = np.issubdtype(labels.dtype, np.integer) and labels.shape == (len(images),)
    if not whole or labels.min() < 0 or labels.max() > 255:
        raise ValueError(f"{split}_labels must be integers [{len(images)}] from 0 to 255")
    return StoredSplit(images, labels.astype(np.uint8))
