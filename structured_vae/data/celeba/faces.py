"""CelebA: faces with attributes, from the official files or from a subset of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, DataNotFoundError
from ..binarisation import MAPPED
from ..files.download import cache_folder
from ..files.roots import ROOT_VARIABLE, data_root
from ..reader import Reader, StoredDataset, StoredSplit
from .decoded import decoded
from .images import SIDE, face, face_files
from .lists import ATTRIBUTES, read_attributes, read_partition

PREPARATION: Final = "64 x 64 of the central square, bilinear, cut first"
"""Description of the preparation of a cache file's images; a new text gives a new file name."""

WAYS: Final = (
    "structured-vae does not download it: its terms allow non-commercial research only, and "
    "forbid redistribution. To provide it, put img_align_celeba.zip, list_attr_celeba.txt and "
    "list_eval_partition.txt, from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, into "
    f"DIR/celeba/, and name DIR: `--data.root DIR`, or {ROOT_VARIABLE}=DIR."
)

LIST: Final = ("list_attr_celeba*.txt", "list_attr_celeba*.txt.gz")
PARTITION: Final = ("list_eval_partition*.txt", "list_eval_partition*.txt.gz")


def read_celeba(root: str | Path | None = None) -> StoredDataset:
    """Read CelebA at 64 x 64 pixels, in colour, with eight attributes of each face as labels.

    `<root>/celeba/` holds the aligned images, in a folder `img_align_celeba` or in a single .zip;
    the list of attributes `list_attr_celeba*.txt`; and optionally the partition
    `list_eval_partition*.txt`. The lists may be compressed (`.gz`). Images have 178 x 218 pixels,
    or 89 x 109. Without a partition, the first 80% of the list are for training, the next 10% for
    validation, and the rest for testing.

    The images are decoded once, into the per-user cache (12 kB per image), and mapped from there.

    Args:
        root: the folder that contains `celeba/`; None means the environment variable or the
            per-user cache.

    Raises:
        DataNotFoundError: a file is missing; the message says where to get it.
        DataError: a file is damaged, or the files contradict each other.
        DataDownloadError: the cache has no room.

    References:
        Liu, Luo, Wang, Tang (2015), Deep learning face attributes in the wild.
    """
    folder = data_root(root).folder / "celeba"
    listed = read_attributes(
        _required(folder, LIST, "the list of attributes, list_attr_celeba.txt")
    )
    partition = _single_file(folder, PARTITION)
    if partition is None:
        splits = _splits_by_order(len(listed.names))
    else:
        splits = read_partition(partition, listed.names)
    # Sort the images by split, so that each split is one slice of the mapped array.
    order = np.argsort(splits, kind="stable")
    images = _decoded(_image_source(folder), [listed.names[place] for place in order])
    ends = np.searchsorted(splits[order], [1, 2])
    train, validation, test = map(
        StoredSplit, np.split(images, ends), np.split(listed.values[order], ends)
    )
    return StoredDataset(train, validation, test, ATTRIBUTES)


def _decoded(source: Path, names: Sequence[str]) -> NDArray[np.uint8]:
    """Map the faces with these names from the cache: `[count, 3, 64, 64]`."""
    files = face_files(source, names)
    sizes = files.sizes
    content = [PREPARATION, [(name, *sizes[name]) for name in names]]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    return decoded(
        cache_folder() / "celeba" / f"faces-{key}.npy",
        (len(names), 3, SIDE, SIDE),
        lambda place: face(files, names[place]),
        "faces decoded",
    )


def _splits_by_order(count: int) -> NDArray[np.int64]:
    """Return the split number of each image, 80 : 10 : 10 in order: `[count]`."""
    if count < 10:
        raise DataError(f"celeba: {count} images are too few for three splits; 10 are enough")
    return np.repeat([0, 1, 2], np.diff([0, count * 8 // 10, count * 9 // 10, count]))


def _image_source(folder: Path) -> Path:
    """Return the folder or the zip with the images."""
    official = folder / "img_align_celeba"
    if official.is_dir():
        return official
    return _required(folder, ("*.zip",), "img_align_celeba, a folder or a zip")


def _required(folder: Path, patterns: tuple[str, ...], what: str) -> Path:
    file = _single_file(folder, patterns)
    if file is None:
        raise DataNotFoundError(f"celeba: {folder} lacks {what}. {WAYS}")
    return file


def _single_file(folder: Path, patterns: tuple[str, ...]) -> Path | None:
    """Return the file that matches a pattern; None if no file does."""
    files = sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise DataError(
            f"celeba: {folder} has several files that match {patterns[0]}: {names}; keep only one"
        )
    if files:
        return files[0]
    return None


READER: Final = Reader(read_celeba, binarisations=MAPPED, shown=False)
"""Reads CelebA, whose terms forbid redistribution."""
