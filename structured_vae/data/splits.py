"""Splits that share no image: check the user's splits, or draw them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

SPLITS: Final = ("train", "validation", "test")

SHARE: Final = 10
"""The share of images for validation is one tenth, and so is the share for testing."""

SPLIT_SEED: Final = 1896
"""Seed that draws the splits. It is constant, so that the same images give the same splits."""

NAMED: Final = 3
"""Maximum number of shared images that a message lists."""


def refuse_overlap(images: Mapping[str, NDArray[Any]]) -> None:
    """Raise if two splits share an image, that is, have images with equal values.

    Args:
        images: the images of each split, `[count, ...]`, by its name.

    Raises:
        DataError: two splits share images; the message says how many, and lists the first ones.
    """
    rows = {name: _rows(split) for name, split in images.items()}
    for first, second in combinations(rows, 2):
        rows_of_first = set(rows[first])
        shared = [place for place, row in enumerate(rows[second]) if row in rows_of_first]
        if shared:
            numbers = ", ".join(map(str, shared[:NAMED]))
            if len(shared) > NAMED:
                numbers += ", ..."
            raise DataError(
                f"the splits overlap: {len(shared)} of the {len(rows[second])} images of {second} "
                f"are also in {first} (numbers {numbers}, from 0). Remove them from one of the "
                "two, or pass all images together so that disjoint splits are drawn"
            )


def drawn_splits(images: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Draw splits, and return the indices of the images of each: 80% train, 10% and 10%.

    The draw depends only on the number of images and on which of them are equal. Equal images go
    into the same split.

    Args:
        images: `[count, ...]`.

    Returns:
        sorted indices `[images of the split]`, by the name of the split.

    Raises:
        DataError: there are fewer than three different images.
    """
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(row, len(numbers)) for row in _rows(images)]
    different = len(numbers)
    if different < len(SPLITS):
        raise DataError(f"three splits need three different images; there are {different}")
    size = max(1, different // SHARE)
    order = np.random.default_rng(SPLIT_SEED).permutation(different)
    groups = {
        "validation": order[:size],
        "test": order[size : 2 * size],
        "train": order[2 * size :],
    }
    return {name: np.flatnonzero(np.isin(group, groups[name])) for name in SPLITS}


def _rows(images: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each image."""
    return [image.tobytes() for image in np.ascontiguousarray(images)]
