"""CelebA: faces with attributes, from the official files or from a part of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, DataNotFoundError
from ..files.download import cache_folder
from ..files.roots import ROOT_VARIABLE, data_root
from ..reader import StoredDataset, StoredSplit
from .decoded import decoded
from .images import SIDE, face, face_files
from .lists import ATTRIBUTES, read_attributes, read_partition

PREPARATION: Final = "64 x 64 of the central square, bilinear, cut first"
"""What a cache file holds; another text makes other files."""

WAYS: Final = (
    "It is not downloaded: its terms allow research that is not commercial, and no passing on. To provide it, put "
    "img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt, from "
    "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, into DIR/celeba/, and name DIR: `--data.root DIR`, or "
    f"{ROOT_VARIABLE}=DIR."
)

LIST: Final = ("list_attr_celeba*.txt", "list_attr_celeba*.txt.gz")
PARTITION: Final = ("list_eval_partition*.txt", "list_eval_partition*.txt.gz")


def read_celeba(root: str | Path | None = None) -> StoredDataset:
    """CelebA at 64 x 64 pixels, in colour, with the eight attributes of each face as labels.

    `<root>/celeba/` holds the aligned images, in a folder `img_align_celeba` or in the one .zip
    there; the list of attributes `list_attr_celeba*.txt`; and perhaps the partition
    `list_eval_partition*.txt`; lists plain or with `.gz`. Images are of 178 x 218 pixels, or all
    sides halved. Without a partition the first 80% in the order of the list are for training, the
    next 10% for validation, the rest for testing.

    The images are decoded once, into the per-user cache, 12 kB each, and mapped from there.

    Args:
        root: the folder with the folder; None means the environment variable or the per-user cache.

    Raises:
        DataNotFoundError: there are no such files; the message says where to get them.
        DataError: a file is damaged, or they do not fit together.
        DataDownloadError: there is no room in the cache.

    References:
        Liu, Luo, Wang, Tang (2015), Deep learning face attributes in the wild.
    """
    folder = data_root(root).folder / "celeba"
    listed = read_attributes(
        _required(folder, LIST, "the list of attributes, list_attr_celeba.txt")
    )
    partition = _one(folder, PARTITION)
    splits = (
        _by_order(len(listed.names))
        if partition is None
        else read_partition(partition, listed.names)
    )
    order = np.argsort(splits, kind="stable")
    images = _decoded(_images(folder), [listed.names[place] for place in order])
    ends = np.searchsorted(splits[order], [1, 2])
    parts = zip(np.split(images, ends), np.split(listed.values[order], ends), strict=True)
    train, validation, test = (StoredSplit(*part) for part in parts)
    return StoredDataset(train, validation, test, ATTRIBUTES)


def _decoded(source: Path, names: Sequence[str]) -> NDArray[np.uint8]:
    """`[count, 3, 64, 64]`: the faces of these names, mapped from the cache."""
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


def _by_order(count: int) -> NDArray[np.int64]:
    """`[count]`: the splits 80 : 10 : 10."""
    if count < 10:
        raise DataError(f"celeba: {count} images are too few for three splits; 10 are enough")
    return np.repeat([0, 1, 2], np.diff([0, count * 8 // 10, count * 9 // 10, count]))


def _images(folder: Path) -> Path:
    official = folder / "img_align_celeba"
    return (
        official
        if official.is_dir()
        else _required(folder, ("*.zip",), "img_align_celeba, a folder or a zip")
    )


def _required(folder: Path, patterns: tuple[str, ...], what: str) -> Path:
    found = _one(folder, patterns)
    if found is None:
        raise DataNotFoundError(f"celeba: {folder} lacks {what}. {WAYS}")
    return found


def _one(folder: Path, patterns: tuple[str, ...]) -> Path | None:
    """The one file that fits a pattern, None if there is none."""
    found = sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(
            f"celeba: {folder} has several files that fit {patterns[0]}: {names}; leave one there"
        )
    return found[0] if found else None
