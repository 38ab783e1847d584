"""Image datasets by name, split and binarised."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UnknownDataNameError, shortened
from .binarisation import BINARISATIONS, Binarisation, none
from .folders import read_folder
from .in_memory import images_in_memory
from .own import read_own
from .plug_ins import read_plug_in
from .reader import Reader, StoredDataset, StoredSplit
from .registry import BUILT_IN, READERS

T = TypeVar("T")

IN_MEMORY: Final = "given-"
"""Start of the name of images in memory; their digest follows."""

LONGEST_PATH: Final = 4096
"""Maximum length of a name that is looked up as a path."""

CELEBA: Final = "celeba"
"""The name of the dataset whose labels are attributes."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of a dataset: images with their labels.

    Attributes:
        images: values in [0, 1], float32 `[count, pixels]`, each image row by row, one colour after
            the other; or uint8 `[count, pixels]`, in steps of 1/255, mapped from a file.
        labels: classes, int64 `[count]`; or attributes, 0 or 1, int64 `[count, attributes]`.
        grey: the probabilities that `images` is drawn from, float32 `[count, pixels]`, if training
            draws its images again at every step; None if training uses `images`, and for test
            splits.

    Example:
        >>> len(load_dataset("fashion-mnist-mini").test)
        1000
    """

    images: NDArray[np.float32 | np.uint8]
    labels: NDArray[np.int64]
    grey: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """A dataset of images, in three splits that share no image.

    Attributes:
        name: the name by which it was loaded.
        binarisation: the name of the binarisation that was applied to the grey values.
        height: rows of an image.
        width: columns of an image.
        train: images to train on.
        validation: images to choose settings with.
        test: images to report results on.
        channels: 1 for grey, 3 for red, green and blue.
        attributes: the names of the columns of the labels; empty if the labels are classes.
        shown: whether pictures written during training may show these images; False if their terms
            forbid redistribution.

    Example:
        >>> dataset = load_dataset("fashion-mnist-mini")
        >>> dataset.train.images.shape == (5000, dataset.pixels)
        True
    """

    name: str
    binarisation: str
    height: int
    width: int
    train: Split
    validation: Split
    test: Split
    channels: int = 1
    attributes: tuple[str, ...] = ()
    shown: bool = True

    @property
    def pixels(self) -> int:
        """The number of values in an image."""
        return self.channels * self.height * self.width

    def split(self, name: str) -> Split:
        """Return the split with this name.

        Args:
            name: `"train"`, `"validation"` or `"test"`.

        Raises:
            UnknownDataNameError: there is no such split.
        """
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return _look_up("split", name, splits)

    def all_for_training(self) -> ImageDataset:
        """Return the dataset with the validation images appended to the training images.

        Do not use its validation split to estimate the loss on new images or to choose settings:
        the model has been trained on those images.

        Example:
            >>> len(load_dataset("fashion-mnist-mini").all_for_training().train)
            6000
        """
        train = self.train
        validation = self.validation
        grey = train.grey
        if grey is not None:
            if validation.grey is None:
                more = validation.images
            else:
                more = validation.grey
            grey = np.concatenate((grey, more.astype(grey.dtype)))
        joined = Split(
            images=np.concatenate((train.images, validation.images)),
            labels=np.concatenate((train.labels, validation.labels)),
            grey=grey,
        )
        return replace(self, train=joined)


def load_dataset(
    name: str, root: str | Path | None = None, binarisation: str | None = None
) -> ImageDataset:
    """Load a dataset of images, and check that its files are the official ones.

    The full datasets are read from `<root>/<name>/`, which holds the four official IDX files,
    compressed (`.gz`) or not. They keep the official order: of the 60,000 training images, the
    first 50,000 are the train split and the last 10,000 the validation split. The test split is
    the official one of 10,000 images. For Omniglot see `read_omniglot`, for CelebA `read_celeba`.

    Args:
        name: one of `dataset_names()`. `"fashion-mnist-mini"` comes with the package: a subset
            of Fashion-MNIST with 5,000 + 1,000 + 1,000 images, for which `root` is ignored. Or the
            path of an .npz file with your own images (see `read_own`), or of a folder of images
            (see `read_folder`).
        root: the folder with the files. None means the environment variable
            `STRUCTURED_VAE_DATA` or, if that is unset, a per-user cache that is filled by
            downloading. Nothing is ever downloaded to a root that you name.
        binarisation: one of `binarisation_names()`: `"threshold"` gives 1 where the grey value
            exceeds 0.5 and 0 elsewhere; `"static"` gives 1 with the grey value as probability,
            drawn once; `"dynamic"` is the same for evaluation, while training draws
            again at every step; `"none"` gives the grey values in [0, 1]. None means
            `"threshold"`, for CelebA `"none"`.

    Returns:
        the three splits, with images as float32 `[count, pixels]`.

    Raises:
        UnknownDataNameError: there is no such dataset or binarisation.
        DataNotFoundError: a root was named, and files are missing there; or there is no such .npz
            file.
        DataDownloadError: no root was named, and a file could not be downloaded.
        DataError: a file is damaged, or is not the official one; or a binarisation was asked for
            CelebA; or the reader of a plug-in cannot be imported, or returns no images.

    Example:
        >>> dataset = load_dataset("fashion-mnist-mini")
        >>> dataset.train.images.shape
        (5000, 784)
    """
    reader = _path_reader(name) or _look_up("dataset", name, READERS)
    if binarisation is None:
        binarisation = usual_binarisation(name)
    chosen = _allowed(name, reader, binarisation)
    if name in READERS and name not in BUILT_IN:
        stored = read_plug_in(name, reader, root)
    else:
        stored = reader.read(root)
    return _dataset(name, stored, binarisation, chosen, reader.shown)


def dataset_of_images(data: Any, binarisation: str | None = None) -> ImageDataset:
    """Make a dataset from images in memory, in three splits that share no image.

    Args:
        data: arrays, tensors, or a torch dataset, as `images_in_memory` takes them.
        binarisation: one of `binarisation_names()`; None means `"threshold"`.

    Raises:
        UnknownDataNameError: there is no such binarisation.
        DataError: the images have a wrong type, shape or size, or two splits share an image.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (100, 8, 8), np.uint8)
        >>> dataset = dataset_of_images(images)
        >>> dataset.train.images.shape, dataset.name[:6]
        ((80, 64), 'given-')
    """
    if binarisation is None:
        binarisation = usual_binarisation(IN_MEMORY)
    chosen = _look_up("binarisation", binarisation, BINARISATIONS)
    stored = images_in_memory(data)
    name = name_in_memory(stored.train, stored.validation, stored.test)
    return _dataset(name, stored, binarisation, chosen, shown=True)


def name_in_memory(*splits: StoredSplit | Split) -> str:
    """Return a name for images in memory, with a digest of their images, labels and grey values.

    The training split comes first; only its grey values count.
    """
    digest = hashlib.sha256()
    for place, split in enumerate(splits):
        arrays = [split.images, split.labels]
        grey = getattr(split, "grey", None)
        if place == 0 and grey is not None:
            arrays.append(grey)
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return f"{IN_MEMORY}{digest.hexdigest()[:16]}"


def _path_reader(name: str) -> Reader | None:
    """Return a reader of the user's own images; None if `name` is not a path."""
    if not isinstance(name, str) or name in READERS:
        return None
    if name.endswith(".npz"):
        return Reader(lambda _: read_own(name))
    if name.startswith(IN_MEMORY):
        raise DataError(f"{name} stands for images in memory: pass them again, data=...")
    if len(name) > LONGEST_PATH or "\0" in name:
        return None
    if Path(name).is_dir() or {"/", os.sep} & set(name):
        return Reader(lambda _: read_folder(name))
    return None


def _dataset(
    name: str, stored: StoredDataset, binarisation: str, chosen: Binarisation, shown: bool
) -> ImageDataset:
    channels, height, width = stored.size
    return ImageDataset(
        name=name,
        binarisation=binarisation,
        height=height,
        width=width,
        train=_binarised(stored.train, chosen, 0, redrawn=chosen.redrawn),
        validation=_binarised(stored.validation, chosen, 1, redrawn=chosen.redrawn),
        test=_binarised(stored.test, chosen, 2),
        channels=channels,
        attributes=stored.attributes,
        shown=shown,
    )


def dataset_names() -> tuple[str, ...]:
    """Return the names of the datasets that `load_dataset` loads.

    Example:
        >>> dataset_names()[:3]
        ('fashion-mnist-mini', 'fashion-mnist', 'mnist')
    """
    return tuple(READERS)


def usual_binarisation(name: str) -> str:
    """Return the default binarisation of a dataset.

    Example:
        >>> usual_binarisation("mnist")
        'threshold'
    """
    binarisations = BINARISATIONS
    if name in READERS:
        binarisations = READERS[name].binarisations
    return next(iter(binarisations))


def is_shown(name: str) -> bool:
    """Return whether the terms of a dataset permit others to see its images and samples of models.

    Example:
        >>> is_shown("mnist"), is_shown("celeba")
        (True, False)
    """
    return name not in READERS or READERS[name].shown


def _look_up(kind: str, name: str, choices: Mapping[str, T]) -> T:
    """Return the choice with this name.

    Args:
        kind: what is chosen, for the message, such as `"dataset"`.
        name: the name asked for.
        choices: every choice, by name.

    Raises:
        UnknownDataNameError: no choice has this name; the message suggests the closest one.

    Example:
        >>> _look_up("split", "test", {"train": 1, "test": 2})
        2
    """
    if isinstance(name, str) and name in choices:
        return choices[name]
    close = get_close_matches(str(name).lower(), choices, n=1)
    suggestion = ""
    if close:
        suggestion = f"Did you mean {close[0]!r}? "
    names = ", ".join(repr(choice) for choice in choices)
    raise UnknownDataNameError(
        f"Unknown {kind} {shortened(name)}. {suggestion}Choose one of: {names}."
    )


def _allowed(name: str, reader: Reader, binarisation: str) -> Binarisation:
    _look_up("binarisation", binarisation, BINARISATIONS)
    if binarisation not in reader.binarisations:
        choices = " or ".join(reader.binarisations)
        raise DataError(
            f"{name} cannot be binarised: its binarisation is {choices}; got {binarisation!r}"
        )
    return reader.binarisations[binarisation]


def _binarised(
    stored: StoredSplit, binarisation: Binarisation, number: int, redrawn: bool = False
) -> Split:
    flat = stored.images.reshape(len(stored.images), -1)
    grey = None
    if redrawn:
        grey = none(flat)
    return Split(
        images=binarisation.binarise(flat, number),
        labels=stored.labels.astype(np.int64),
        grey=grey,
    )
