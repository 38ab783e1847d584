"""Images in memory: arrays, tensors or datasets of any kind, checked and split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, shortened
from .reader import StoredDataset, StoredSplit
from .splits import SPLITS, drawn_splits, refuse_overlap

COLOURS: Final = (1, 3)
"""The number of colours that an image may have."""

WAY: Final = (
    "Images must be uint8, or floats in [0, 1], of shape [count, height, width], "
    "[count, height, width, 3], [count, 3, height, width] or [count, features]"
)


def images_in_memory(data: Any) -> StoredDataset:
    """Split images in memory into three splits that share no image.

    Args:
        data: an array or tensor of images; a pair of images and labels; a dataset with `len` and
            indexing, such as a torch dataset, whose examples are images or pairs; or a mapping
            from "train", and optionally "validation" and "test", to any of these. Missing splits
            are drawn from the training images.

    Raises:
        DataError: the images have a wrong type, shape or size, or two splits share an image.

    Example:
        >>> images = np.random.default_rng(0).random((10, 4, 4))
        >>> stored = images_in_memory(images)
        >>> len(stored.train.images), len(stored.validation.images), len(stored.test.images)
        (8, 1, 1)
    """
    try:
        if isinstance(data, Mapping):
            return _of_splits(data)
        return split_up(_stored(data, "the images"))
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"data holds no images: {error}. {WAY}") from error


def split_up(stored: StoredSplit) -> StoredDataset:
    """Draw three splits from images (see `drawn_splits`).

    Raises:
        DataError: there are fewer than three different images.
    """
    places = drawn_splits(stored.images)
    train, validation, test = (_subset(stored, places[name]) for name in SPLITS)
    return StoredDataset(train, validation, test)


def whole(splits: Mapping[str, StoredSplit]) -> StoredDataset:
    """Join three splits into a dataset, after checking their sizes, types and overlap.

    Raises:
        DataError: the splits differ in image size or type, or share an image.
    """
    sizes = {name: split.images.shape[1:] for name, split in splits.items()}
    kinds = {name: split.images.dtype for name, split in splits.items()}
    if len(set(sizes.values())) > 1 or len(set(kinds.values())) > 1:
        raise DataError(f"the splits have images of different sizes or types: {sizes}, {kinds}")
    refuse_overlap({name: split.images for name, split in splits.items()})
    return StoredDataset(splits["train"], splits["validation"], splits["test"])


def checked_images(images: NDArray[Any], what: str) -> NDArray[np.uint8 | np.float32]:
    """Check images and bring them to the form in which they are stored.

    Returns:
        uint8 or float32 `[count, height, width]`, or in colour `[count, 3, height, width]`.

    Raises:
        DataError: the images have a wrong type, shape or range.
    """
    if images.dtype == np.bool_:
        images = images.astype(np.float32)
    numeric = images.dtype == np.uint8 or np.issubdtype(images.dtype, np.floating)
    if not numeric or images.ndim not in (2, 3, 4) or images.size == 0:
        raise DataError(f"{what}: got {images.dtype} {list(images.shape)}. {WAY}")
    if images.dtype != np.uint8:
        images = _checked_floats(images, what)
    if images.ndim == 2:
        return images[:, None, :]
    if images.ndim == 3:
        return images
    return _colours_first(images, what)


def _checked_floats(images: NDArray[Any], what: str) -> NDArray[np.float32]:
    """Return images of numbers from 0 to 1 in float32.

    Raises:
        DataError: a number is outside of this range, or not a number.
    """
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which the check finds
        images = images.astype(np.float32)
    if not (images.min() >= 0 and images.max() <= 1):  # `not` catches nan as well
        raise DataError(f"{what}: got floats from {images.min():g} to {images.max():g}. {WAY}")
    return images


def checked_labels(labels: NDArray[Any], count: int, what: str) -> NDArray[np.int64]:
    """Check that there is one class per image, and return the classes: int64 `[count]`.

    Raises:
        DataError: the labels are not integers from 0 to 2^63 - 1, one per image.
    """
    wanted = f"the labels of {what} must be integers [{count}] from 0"
    if not np.issubdtype(labels.dtype, np.integer) or labels.shape != (count,):
        raise DataError(f"{wanted}; got {labels.dtype} {list(labels.shape)}")
    smallest = int(labels.min())
    largest = int(labels.max())
    if smallest < 0 or largest > np.iinfo(np.int64).max:
        raise DataError(f"{wanted}; got values from {smallest} to {largest}")
    return labels.astype(np.int64)


def _colours_first(images: NDArray[Any], what: str) -> NDArray[Any]:
    if images.shape[1] not in COLOURS and images.shape[3] in COLOURS:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if images.shape[1] not in COLOURS:
        raise DataError(
            f"{what}: shape {list(images.shape)} has neither one colour nor three. {WAY}"
        )
    if images.shape[1] == 1:
        return images[:, 0]
    return images


def _of_splits(data: Mapping[Any, Any]) -> StoredDataset:
    if "train" not in data or not set(data) <= set(SPLITS):
        raise DataError(
            f"the splits are called {', '.join(SPLITS)}, and train is required; "
            f"got {shortened(list(data))}"
        )
    splits = {name: _stored(images, name) for name, images in data.items()}
    missing = [name for name in SPLITS if name not in splits]
    if missing:
        splits |= _draw_missing(splits["train"], missing)
    return whole(splits)


def _draw_missing(train: StoredSplit, missing: list[str]) -> dict[str, StoredSplit]:
    """Draw the missing splits from the training images, and return what remains as "train"."""
    drawn = split_up(train)
    splits = {name: getattr(drawn, name) for name in missing}
    splits["train"] = drawn.train
    if missing == ["validation"]:  # the images drawn for the other split stay in train
        splits["train"] = _joined(drawn.train, drawn.test)
    elif missing == ["test"]:
        splits["train"] = _joined(drawn.train, drawn.validation)
    return splits


def _joined(first: StoredSplit, second: StoredSplit) -> StoredSplit:
    return StoredSplit(
        np.concatenate([first.images, second.images]), np.concatenate([first.labels, second.labels])
    )


def _subset(split: StoredSplit, places: NDArray[np.int64]) -> StoredSplit:
    return StoredSplit(split.images[places], split.labels[places])


def _stored(data: Any, what: str) -> StoredSplit:
    images, labels = _images_and_labels(data)
    checked = checked_images(images, what)
    if labels is None:
        return StoredSplit(checked, np.zeros(len(checked), np.int64))
    return StoredSplit(checked, checked_labels(labels, len(checked), what))


def _images_and_labels(data: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the images and, if there are any, the labels of an array, a pair or a dataset."""
    if isinstance(data, tuple) and len(data) == 2 and hasattr(data[0], "shape"):
        return np.asarray(data[0]), np.asarray(data[1])
    if hasattr(data, "shape"):
        return np.asarray(data), None
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise DataError(
            "expected an array of images, or a dataset with len() and indexing; "
            f"got {shortened(data)}. {WAY}"
        )
    examples = [data[place] for place in range(len(data))]
    if examples and isinstance(examples[0], tuple | list):
        return _stacked_pairs(examples)
    return _stacked(examples), None


def _stacked_pairs(
    examples: Sequence[Sequence[Any]],
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the images and the labels of examples; None for examples of an image alone."""
    images, *labels = zip(*examples, strict=False)
    if not labels:
        return _stacked(list(images)), None
    if len(labels) > 1:
        raise DataError(
            "an example must be an image, or a pair of image and label; "
            f"got a tuple of {1 + len(labels)}. {WAY}"
        )
    return _stacked(list(images)), np.asarray([int(label) for label in labels[0]])


def _stacked(images: list[Any]) -> NDArray[Any]:
    """Stack images, which may be Pillow's: `[count, ...]`."""
    if not images:
        return np.zeros((0, 0))
    return np.stack([np.asarray(image) for image in images])
