"""Omniglot at 28 x 28 pixels, from the file of Burda et al. or from an .npz file."""

from __future__ import annotations

import importlib.util
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataNotFoundError
from .files.npz import read_npz
from .files.roots import ROOT_VARIABLE, data_root
from .reader import Reader, StoredDataset, StoredSplit

Grey: TypeAlias = NDArray[np.uint8]

SIDE: Final = 28
VALIDATION: Final = 1_345
"""Number of training images held out for validation; 23,000 of the official 24,345 remain."""

SPLIT_SEED: Final = 2015
"""Seed that draws the validation images. It is constant, so that all runs have the same splits."""

WAYS: Final = (
    "structured-vae does not download it, since its publishers give no checksum. To provide it, "
    "put chardata.mat, from https://github.com/yburda/iwae/tree/master/datasets/OMNIGLOT, or an "
    ".npz file with the arrays `train` and `test` (uint8 [count, 28, 28]) into DIR/omniglot/, and "
    f"name DIR: `--data.root DIR`, or {ROOT_VARIABLE}=DIR."
)

DAMAGES: Final = (
    OSError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions that reading a damaged file raises."""


def read_omniglot(root: str | Path | None = None, validation: int = VALIDATION) -> StoredDataset:
    """Read Omniglot as bright ink on a dark ground, with the alphabets (0 to 49) as labels.

    `<root>/omniglot/` holds `chardata.mat`, or an .npz file with `train` and `test`, uint8
    `[count, 28, 28]`, and optionally both `train_alphabet` and `test_alphabet`. Neither file has a
    validation set, so one is drawn from the training images with a fixed seed.

    Args:
        root: the folder that contains `omniglot/`; None means the environment variable or the
            per-user cache.
        validation: how many training images to hold out for validation.

    Raises:
        DataNotFoundError: there is no such file; the message says where to get it.
        DataError: the file is damaged or has other arrays, or scipy is missing for `chardata.mat`.

    References:
        Burda, Grosse, Salakhutdinov (2016), Importance weighted autoencoders: the images at 28 x
        28.
    """
    file = _file(data_root(root).folder / "omniglot")
    if file.suffix == ".mat" and importlib.util.find_spec("scipy") is None:
        raise DataError(f"reading {file} needs scipy: pip install 'structured-vae[omniglot]'")
    try:
        train, test = (_checked(split) for split in _reader(file)(file))
        if not 0 < validation < len(train.images):
            raise ValueError(f"it has only {len(train.images)} training images")
    except DAMAGES as error:
        raise DataError(f"{file} does not hold the images of Omniglot: {error}. {WAYS}") from error
    order = np.random.default_rng(SPLIT_SEED).permutation(len(train.images))
    return StoredDataset(
        train=_subset(train, np.sort(order[validation:])),
        validation=_subset(train, np.sort(order[:validation])),
        test=test,
    )


def _file(folder: Path) -> Path:
    """Return `chardata.mat`, or the only .npz file with the right arrays."""
    official = folder / "chardata.mat"
    if official.is_file():
        return official
    archives = sorted(folder.glob("*.npz"))
    fitting = [path for path in archives if _names(path) >= {"train", "test"}]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(path.name for path in archives) or "none"
    raise DataNotFoundError(
        f"omniglot: expected {official}, or one .npz file with `train` and `test` beside it; "
        f".npz files there: {names}. {WAYS}"
    )


def _names(path: Path) -> set[str]:
    """Return the names of the arrays in an .npz file, or none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return set()


def _reader(file: Path) -> Callable[[Path], tuple[tuple[Grey, Grey], ...]]:
    if file.suffix == ".mat":
        return _from_mat
    return _from_npz


def _from_npz(file: Path) -> tuple[tuple[Grey, Grey], ...]:
    arrays = read_npz(file, ("train", "test", "train_alphabet", "test_alphabet"))
    if ("train_alphabet" in arrays) != ("test_alphabet" in arrays):
        raise ValueError(
            "it has only one of train_alphabet and test_alphabet; add the other, or remove it"
        )
    return tuple(
        (arrays[name], arrays.get(f"{name}_alphabet", np.zeros(arrays[name].shape[:1], np.uint8)))
        for name in ("train", "test")
    )


def _from_mat(file: Path) -> tuple[tuple[Grey, Grey], ...]:
    """Read the images and alphabets of both splits from `chardata.mat`.

    Each column of `data [784, count]` is an image in [0, 1], itself stored column by column. Each
    column of `target` is a one-hot alphabet.
    """
    from scipy.io import loadmat  # an optional dependency

    try:
        arrays = loadmat(file)
    except Exception as error:  # scipy raises exceptions of many types on damaged files
        raise ValueError(f"{type(error).__name__}: {error}") from error
    splits = (("data", "target"), ("testdata", "testtarget"))
    return tuple(
        (_upright(arrays[images]), arrays[alphabets].argmax(axis=0)) for images, alphabets in splits
    )


def _upright(columns: NDArray[np.float64]) -> Grey:
    """Turn columns of intensities into upright images in 0..255: `[count, 28, 28]`."""
    if not (columns.min() >= 0 and columns.max() <= 1):
        raise ValueError("intensities are not within [0, 1]")
    images = np.rint(255 * columns.T).astype(np.uint8)
    return images.reshape(-1, SIDE, SIDE).transpose(0, 2, 1)


def _checked(split: tuple[Grey, Grey]) -> StoredSplit:
    images, labels = split
    if images.dtype != np.uint8 or images.shape[1:] != (SIDE, SIDE) or len(images) == 0:
        raise ValueError(
            f"expected uint8 [count, {SIDE}, {SIDE}], found {images.dtype} {list(images.shape)}"
        )
    if labels.shape != (len(images),):
        raise ValueError(
            f"expected one alphabet for each of {len(images)} images, found {list(labels.shape)}"
        )
    return StoredSplit(images, labels.astype(np.uint8))


def _subset(split: StoredSplit, indices: NDArray[np.int64]) -> StoredSplit:
    return StoredSplit(split.images[indices], split.labels[indices])


READER: Final = Reader(read_omniglot)
"""Reads Omniglot."""
