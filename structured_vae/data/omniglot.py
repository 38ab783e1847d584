"""Omniglot at 28 x 28 pixels, from the file of Burda et al. or from an .npz."""

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
from .reader import StoredDataset, StoredSplit

Grey: TypeAlias = NDArray[np.uint8]

SIDE: Final = 28
VALIDATION: Final = 1_345
"""Images of the training set that are for validation: 23,000 are left of the official 24,345."""

SPLIT_SEED: Final = 2015
"""Of the draw of the validation images. A constant, so that the splits are the same in every run."""

WAYS: Final = (
    "It is not downloaded, as its publishers give no checksum. To provide it, put chardata.mat, from "
    "https://github.com/yburda/iwae/tree/master/datasets/OMNIGLOT, or an .npz with the arrays `train` and `test` "
    f"(uint8 [count, 28, 28]) into DIR/omniglot/, and name DIR: `--data.root DIR`, or {ROOT_VARIABLE}=DIR."
)


def read_omniglot(root: str | Path | None = None, validation: int = VALIDATION) -> StoredDataset:
    """Omniglot, ink bright, with the alphabets (0 to 49) as labels.

    `<root>/omniglot/` holds `chardata.mat`, or an .npz with `train` and `test`, uint8
    `[count, 28, 28]`, and perhaps `train_alphabet` and `test_alphabet`, both. Neither has a
    validation set, so one is drawn from the training images with a fixed seed; what is drawn is not
    trained on.

    Args:
        root: the folder with the folder; None means the environment variable or the per-user cache.
        validation: how many images to draw.

    Raises:
        DataNotFoundError: there is no such file; the message says where to get it.
        DataError: a file is damaged or has other arrays, or scipy is missing for `chardata.mat`.

    References:
        Burda, Grosse, Salakhutdinov (2016), Importance weighted autoencoders: the images at 28 x
        28.
    """
    file = _file(data_root(root).folder / "omniglot")
    if file.suffix == ".mat" and importlib.util.find_spec("scipy") is None:
        raise DataError(f"{file} needs scipy to be read: pip install 'structured-vae[omniglot]'")
    try:
        train, test = (_checked(split) for split in _reader(file)(file))
        if not 0 < validation < len(train.images):
            raise ValueError(f"only {len(train.images)} images to train on")
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise DataError(f"{file}: not the images of Omniglot: {error}. {WAYS}") from error
    order = np.random.default_rng(SPLIT_SEED).permutation(len(train.images))
    kept, drawn = np.sort(order[validation:]), np.sort(order[:validation])
    return StoredDataset(train=_part(train, kept), validation=_part(train, drawn), test=test)


def _file(folder: Path) -> Path:
    """`chardata.mat`, else the one .npz with images of our size."""
    official = folder / "chardata.mat"
    if official.is_file():
        return official
    archives = sorted(folder.glob("*.npz"))
    fitting = [path for path in archives if _names(path) >= {"train", "test"}]
    if len(fitting) == 1:
        return fitting[0]
    found = ", ".join(path.name for path in archives) or "none"
    raise DataNotFoundError(
        f"omniglot: expected {official}, or one .npz with `train` and `test` beside it; .npz there: {found}. {WAYS}"
    )


def _names(path: Path) -> set[str]:
    """The arrays of an .npz, none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return set()


def _reader(file: Path) -> Callable[[Path], tuple[tuple[Grey, Grey], ...]]:
    return _from_mat if file.suffix == ".mat" else _from_npz


def _from_npz(file: Path) -> tuple[tuple[Grey, Grey], ...]:
    arrays = read_npz(file, ("train", "test", "train_alphabet", "test_alphabet"))
    if ("train_alphabet" in arrays) != ("test_alphabet" in arrays):
        raise ValueError("it has one of train_alphabet and test_alphabet; both or none are needed")
    return tuple(
        (arrays[name], arrays.get(f"{name}_alphabet", np.zeros(arrays[name].shape[:1], np.uint8)))
        for name in ("train", "test")
    )


def _from_mat(file: Path) -> tuple[tuple[Grey, Grey], ...]:
    """Columns of `data [784, count]` are images by columns, in [0, 1]; those of `target` one-hot alphabets."""
    from scipy.io import loadmat  # optional

    try:
        arrays = loadmat(file)
    except Exception as error:  # what damage makes it raise is of every kind
        raise ValueError(f"{type(error).__name__}: {error}") from error
    splits = (("data", "target"), ("testdata", "testtarget"))
    return tuple(
        (_upright(arrays[images]), arrays[alphabets].argmax(axis=0)) for images, alphabets in splits
    )


def _upright(columns: NDArray[np.float64]) -> Grey:
    """`[count, 28, 28]`, in steps of 1/255."""
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
        raise ValueError(f"{len(images)} images have {list(labels.shape)} alphabets")
    return StoredSplit(images, labels.astype(np.uint8))


def _part(split: StoredSplit, indices: NDArray[np.int64]) -> StoredSplit:
    return StoredSplit(split.images[indices], split.labels[indices])
