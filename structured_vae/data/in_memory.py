"""Images in memory: arrays, tensors or datasets of any kind, checked and split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, shortened
from .reader import StoredDataset, StoredSplit
from .splits import SPLITS, drawn_splits, refuse_overlap

COLOURS: Final = (1, 3)

WAY: Final = (
    "Images are uint8, or floats in [0, 1], and [count, height, width], [count, height, width, 3], "
    "[count, 3, height, width] or [count, features]"
)


def images_in_memory(data: Any) -> StoredDataset:
    """The images that a caller gives, in three splits that share none.

    Args:
        data: an array or tensor of images; a pair of images and labels; a dataset with `len` and
            places, as those of torch, whose examples are images or pairs; or a mapping of any of
            these by "train" and perhaps "validation" and "test". Splits that are not given are
            drawn from the training images.

    Raises:
        DataError: the images have another type, shape or size, or the splits share some.

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
        raise DataError(f"no images: {error}. {WAY}") from error


def split_up(stored: StoredSplit) -> StoredDataset:
    """Three splits that are drawn from images, see `drawn_splits`.

    Raises:
        DataError: there are fewer than three different images.
    """
    places = drawn_splits(stored.images)
    train, validation, test = (_places(stored, places[name]) for name in SPLITS)
    return StoredDataset(train, validation, test)


def whole(splits: Mapping[str, StoredSplit]) -> StoredDataset:
    """Given splits together, once they are seen to be of one size and to share no image.

    Raises:
        DataError: they are not.
    """
    sizes = {name: split.images.shape[1:] for name, split in splits.items()}
    kinds = {name: split.images.dtype for name, split in splits.items()}
    if len(set(sizes.values())) > 1 or len(set(kinds.values())) > 1:
        raise DataError(f"the splits have images of different sizes or types: {sizes}, {kinds}")
    refuse_overlap({name: split.images for name, split in splits.items()})
    return StoredDataset(splits["train"], splits["validation"], splits["test"])


def checked_images(images: NDArray[Any], what: str) -> NDArray[np.uint8 | np.float32]:
    """`[count, height, width]` or `[count, 3, height, width]`: images as they are stored.

    Raises:
        DataError: they have another type, shape or range.
    """
    if images.dtype == np.bool_:
        images = images.astype(np.float32)
    known = images.dtype == np.uint8 or np.issubdtype(images.dtype, np.floating)
    if not known or images.ndim not in (2, 3, 4) or images.size == 0:
        raise DataError(f"{what} is {images.dtype} {list(images.shape)}. {WAY}")
    if images.dtype != np.uint8:
        with np.errstate(over="ignore"):  # infinity is refused
            images = images.astype(np.float32)
        if not (images.min() >= 0 and images.max() <= 1):  # nor of nan
            raise DataError(f"{what}: floats from {images.min():g} to {images.max():g}. {WAY}")
    if images.ndim == 2:
        return images[:, None, :]
    return images if images.ndim == 3 else _colours_first(images, what)


def checked_labels(labels: NDArray[Any], count: int, what: str) -> NDArray[np.int64]:
    """`[count]`: classes.

    Raises:
        DataError: they are not integers from 0 to 2^63 - 1, one an image.
    """
    wanted = f"the labels of {what} must be integers [{count}] from 0"
    if not np.issubdtype(labels.dtype, np.integer) or labels.shape != (count,):
        raise DataError(f"{wanted}; got {labels.dtype} {list(labels.shape)}")
    least, most = int(labels.min()), int(labels.max())
    if least < 0 or most > np.iinfo(np.int64).max:
        raise DataError(f"{wanted}; they are from {least} to {most}")
    return labels.astype(np.int64)


def _colours_first(images: NDArray[Any], what: str) -> NDArray[Any]:
    if images.shape[1] not in COLOURS and images.shape[3] in COLOURS:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if images.shape[1] not in COLOURS:
        raise DataError(f"{what}: {list(images.shape)} have neither one colour nor three. {WAY}")
    return images[:, 0] if images.shape[1] == 1 else images


def _of_splits(data: Mapping[Any, Any]) -> StoredDataset:
    if "train" not in data or not set(data) <= set(SPLITS):
        raise DataError(
            f"splits are called {', '.join(SPLITS)}, the first being needed; got {shortened(list(data))}"
        )
    splits = {name: _stored(part, name) for name, part in data.items()}
    missing = [name for name in SPLITS if name not in splits]
    if missing:
        drawn = split_up(splits["train"])
        if len(missing) == 1:  # the tenth that is not needed stays with the training images
            unused = "test" if missing == ["validation"] else "validation"
            splits["train"] = _joined(drawn.train, getattr(drawn, unused))
        else:
            splits["train"] = drawn.train
        splits |= {name: getattr(drawn, name) for name in missing}
    return whole(splits)


def _joined(first: StoredSplit, second: StoredSplit) -> StoredSplit:
    return StoredSplit(
        np.concatenate([first.images, second.images]), np.concatenate([first.labels, second.labels])
    )


def _places(split: StoredSplit, places: NDArray[np.int64]) -> StoredSplit:
    return StoredSplit(split.images[places], split.labels[places])


def _stored(data: Any, what: str) -> StoredSplit:
    images, labels = _images_and_labels(data)
    checked = checked_images(images, what)
    classes = (
        np.zeros(len(checked), np.int64)
        if labels is None
        else checked_labels(labels, len(checked), what)
    )
    return StoredSplit(checked, classes)


def _images_and_labels(data: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if isinstance(data, tuple) and len(data) == 2 and hasattr(data[0], "shape"):
        return np.asarray(data[0]), np.asarray(data[1])
    if hasattr(data, "shape"):
        return np.asarray(data), None
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise DataError(
            f"expected images or a dataset with len and places; got {shortened(data)}. {WAY}"
        )
    examples = [data[place] for place in range(len(data))]
    if not (examples and isinstance(examples[0], tuple | list)):
        return _stacked(examples), None
    images, *labels = zip(*examples, strict=False)
    if len(labels) > 1:
        raise DataError(
            f"an example must be an image, alone or with a label; got {1 + len(labels)} parts. {WAY}"
        )
    return _stacked(list(images)), np.asarray([int(each) for each in labels[0]]) if labels else None


def _stacked(images: list[Any]) -> NDArray[Any]:
    """`[count, ...]`: images one by one, also those of pillow."""
    return np.stack([np.asarray(image) for image in images]) if images else np.zeros((0, 0))
