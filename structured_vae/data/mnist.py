"""MNIST and Fashion-MNIST, in full, from their official files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .files.idx import read_idx
from .files.roots import data_root, ways_to_provide
from .files.sources import FASHION_MNIST, MNIST, DataFile, Source, check_content
from .reader import Reader, StoredDataset, StoredSplit


def read_official(source: Source, root: str | Path | None = None) -> StoredDataset:
    """Read a full dataset in official order.

    The train split is the first `source.train_count` images of the official training set, the
    validation split the remaining ones, and the test split the official test set.

    Args:
        source: the dataset.
        root: where its files are; see `data_root`.

    Raises:
        DataNotFoundError: a root was named, and files are missing there.
        DataDownloadError: no root was named, and a file could not be downloaded.
        DataError: a file is damaged, or is not the official one.
    """
    paths = data_root(root).paths(source)
    train_images, train_labels, test_images, test_labels = (
        _read(source, file, path) for file, path in zip(source.files, paths, strict=True)
    )
    cut = source.train_count
    return StoredDataset(
        train=StoredSplit(train_images[:cut], train_labels[:cut]),
        validation=StoredSplit(train_images[cut:], train_labels[cut:]),
        test=StoredSplit(test_images, test_labels),
    )


def _read(source: Source, file: DataFile, path: Path) -> NDArray[np.uint8]:
    try:
        array = read_idx(path, file.shape)
        check_content(array, file, str(path))
    except DataError as error:
        raise DataError(
            f"{error}\nReplace the file by an intact one: its uncompressed content must have "
            f"SHA-256 {file.sha256}.\n{ways_to_provide(source)}"
        ) from error
    return array


FASHION_MNIST_READER: Final = Reader(lambda root: read_official(FASHION_MNIST, root))
"""Reads Fashion-MNIST."""

MNIST_READER: Final = Reader(lambda root: read_official(MNIST, root))
"""Reads MNIST."""
