"""Check what the reader of another package returns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import DataError, shortened
from .in_memory import checked_images, checked_labels, whole
from .reader import Reader, StoredDataset, StoredSplit
from .splits import SPLITS


def read_plug_in(name: str, reader: Reader, root: str | Path | None) -> StoredDataset:
    """Read the data set of another package, and check it.

    Args:
        name: its name, for messages.
        reader: reads it.
        root: the folder that `load_dataset` takes.

    Raises:
        DataError: the reader returns no `StoredDataset`; or images or labels have a wrong type,
            shape or range; or two splits share an image.
    """
    stored = reader.read(root)
    if not isinstance(stored, StoredDataset):
        raise DataError(
            f"the reader of the data set {name} must return a StoredDataset; got "
            f"{shortened(stored)}"
        )
    splits = {}
    for split in SPLITS:
        splits[split] = _checked(getattr(stored, split), f"{name}, {split}", stored.attributes)
    return replace(whole(splits), attributes=stored.attributes)


def _checked(split: StoredSplit, what: str, attributes: tuple[str, ...]) -> StoredSplit:
    """Return a split with images as they are stored, and one row of labels for each.

    Raises:
        DataError: images or labels have a wrong type, shape or range.
    """
    images = checked_images(np.asarray(split.images), what)
    labels = np.asarray(split.labels)
    if not attributes:
        return StoredSplit(images, checked_labels(labels, len(images), what))
    shape = (len(images), len(attributes))
    if labels.shape != shape or not np.isin(labels, (0, 1)).all():
        raise DataError(
            f"{what}: the attributes must be 0 or 1, {list(shape)}; got {labels.dtype} "
            f"{list(labels.shape)}"
        )
    return StoredSplit(images, labels.astype(np.uint8))
