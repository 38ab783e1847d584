"""The subset of Fashion-MNIST that comes with the package (MIT licence, Zalando SE)."""

from __future__ import annotations

import zipfile
import zlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .reader import Reader, StoredDataset, StoredSplit

MINI_COUNTS: Final = MappingProxyType({"train": 5_000, "validation": 1_000, "test": 1_000})
IMAGE_SHAPE: Final = (28, 28)


def mini_file() -> Traversable:
    """Return the file of the package that holds the subset.

    For each split it has `<split>_images` uint8 `[count, 28, 28]`, `<split>_labels` uint8 `[count]`
    and `<split>_indices` int32 `[count]`: the index of each image in the official training file,
    or for the test split in the official test file.
    """
    return files(__package__) / "fashion_mnist_mini.npz"


def read_mini(file: Traversable | None = None) -> StoredDataset:
    """Read the embedded subset of Fashion-MNIST.

    Every class has the same number of images in each split. Each split is a subset of the split of
    the full dataset with the same name.

    Args:
        file: the file to read; None means the one in the package.

    Raises:
        DataError: the file is missing or damaged.
    """
    if file is None:
        file = mini_file()
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            train, validation, test = (_split(arrays, split) for split in MINI_COUNTS)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{file}: expected the images that come with structured-vae, found: {error}. "
            "Reinstall it: pip install --force-reinstall --no-deps structured-vae"
        ) from error
    return StoredDataset(train, validation, test)


def _split(arrays: np.lib.npyio.NpzFile, split: str) -> StoredSplit:
    count = MINI_COUNTS[split]
    return StoredSplit(
        images=_array(arrays, f"{split}_images", (count, *IMAGE_SHAPE)),
        labels=_array(arrays, f"{split}_labels", (count,)),
    )


def _array(arrays: np.lib.npyio.NpzFile, name: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    array: NDArray[np.uint8] = arrays[name]
    if array.dtype != np.uint8 or array.shape != shape:
        raise DataError(f"{name} is {array.dtype} {array.shape} instead of uint8 {shape}")
    return array


READER: Final = Reader(lambda root: read_mini())
"""Reads the subset, whatever the root."""
