"""Splits that share no image: whether given ones do, and drawing them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

SPLITS: Final = ("train", "validation", "test")

SHARE: Final = 10
"""A tenth of the images is for validation, another for the test."""

SPLIT_SEED: Final = 1896
"""Of the draw. A constant, so that the same images make the same splits for every run."""

NAMED: Final = 3
"""Places of shared images in a message."""


def refuse_overlap(images: Mapping[str, NDArray[Any]]) -> None:
    """Refuses splits that share an image, value by value.

    Args:
        images: by the name of the split, `[count, ...]` each.

    Raises:
        DataError: two splits do, with how many images, and which are the first.
    """
    rows = {name: _rows(part) for name, part in images.items()}
    for first, second in combinations(rows, 2):
        known = set(rows[first])
        shared = [place for place, row in enumerate(rows[second]) if row in known]
        if shared:
            named = ", ".join(map(str, shared[:NAMED])) + (", ..." if len(shared) > NAMED else "")
            raise DataError(
                f"the splits overlap: {len(shared)} of the {len(rows[second])} images of {second} are in {first} too "
                f"(numbers {named}, from 0). Take them out of one of the two, or give all images together: splits "
                "that share none are then drawn"
            )


def drawn_splits(images: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Places of the images of each split: four fifths to train on, and two tenths.

    The draw depends on how many images there are and which are the same, on nothing else. Images
    that are the same are in one split.

    Args:
        images: `[count, ...]`.

    Raises:
        DataError: there are fewer than three different ones.
    """
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(row, len(numbers)) for row in _rows(images)]
    different = len(numbers)
    if different < len(SPLITS):
        raise DataError(f"three splits need three different images; there are {different}")
    part = max(1, different // SHARE)
    order = np.random.default_rng(SPLIT_SEED).permutation(different)
    bounds = {
        "validation": order[:part],
        "test": order[part : 2 * part],
        "train": order[2 * part :],
    }
    return {name: np.flatnonzero(np.isin(group, bounds[name])) for name in SPLITS}


def _rows(images: NDArray[Any]) -> list[bytes]:
    """The bytes of each image."""
    return [image.tobytes() for image in np.ascontiguousarray(images)]
