"""The text files of CelebA: the attributes of each image, and the split that it belongs to."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

ATTRIBUTES: Final = (
    "Eyeglasses",
    "Male",
    "Smiling",
    "Bangs",
    "Black_Hair",
    "Blond_Hair",
    "Wearing_Hat",
    "Young",
)
"""The eight of the 40 attributes that we use. The paper names only the first three."""

TYPICAL: Final = (0, 0, 0, 0, 0, 0, 0, 1)
"""The more frequent value of each attribute."""

MOST_BYTES: Final = 100_000_000
"""Maximum size of a list; the longest official one has 27 million bytes."""

NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\.jpg")
"""The name of an image: a file name without a folder."""


@dataclass(frozen=True, eq=False)
class AttributeList:
    """The attributes of all images, in the order of the file.

    Attributes:
        names: the file names of the images.
        values: 0 or 1, int64 `[count, 8]`, in the order of `ATTRIBUTES`.
    """

    names: tuple[str, ...]
    values: NDArray[np.int64]


def read_attributes(path: Path) -> AttributeList:
    """Read a file `list_attr_celeba.txt`, plain or gzip.

    Its first line is the number of rows, its second the names of the attributes. Each row has the
    name of an image, and -1 or 1 for each attribute.

    Raises:
        DataError: the file has another format; the message names the line.
    """
    lines = _lines(path)
    if len(lines) < 3:
        raise DataError(f"{path}: expected the number of images, a line of attributes and rows")
    count = lines[0][1].strip()
    header = lines[1][1].split()
    rows = lines[2:]
    if count != str(len(rows)):
        raise DataError(
            f"{path}: line 1 must be the number of rows, {len(rows)}; found '{count[:40]}'"
        )
    if absent := [name for name in ATTRIBUTES if header.count(name) != 1]:
        raise DataError(
            f"{path}: line 2 must name every attribute exactly once; "
            f"it does not for {', '.join(absent)}"
        )
    places = [header.index(name) for name in ATTRIBUTES]
    names, values = _table(path, rows, {"-1": 0, "1": 1}, len(header), places)
    return AttributeList(names, values)


def read_partition(path: Path, names: Sequence[str]) -> NDArray[np.int64]:
    """Read the split of each image from a `list_eval_partition.txt`, plain or gzip: `[count]`.

    The splits are 0 for train, 1 for validation and 2 for test, in the order of `names`.

    Args:
        path: the file; each row has the name of an image and its split.
        names: the file names of the images.

    Raises:
        DataError: the file has another format or other images, or a split is empty.
    """
    listed, splits = _table(path, _lines(path), {"0": 0, "1": 1, "2": 2}, 1, [0])
    split_of = dict(zip(listed, splits[:, 0].tolist(), strict=True))
    if other := set(split_of) ^ set(names):
        raise DataError(
            f"{path}: it must have exactly one row for each image of the list of attributes; "
            f"{len(other)} images are in only one of the two files, such as {min(other)}"
        )
    in_order = np.array([split_of[name] for name in names])
    if len(np.unique(in_order)) < 3:
        raise DataError(
            f"{path}: a split has no image; it needs 0 (train), 1 (validation) and 2 (test)"
        )
    return in_order


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not empty, numbered from 1."""
    open_file: Callable[..., Any] = open
    if path.suffix == ".gz":
        open_file = gzip.open
    try:
        with open_file(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        numbered = enumerate(content.decode("ascii").splitlines(), 1)
        return [(number, line) for number, line in numbered if line.strip()]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} is not a list of CelebA: {error}") from error


def _table(
    path: Path,
    lines: Sequence[tuple[int, str]],
    meanings: Mapping[str, int],
    width: int,
    places: Sequence[int],
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Read a table whose rows are an image's name and `width` words.

    Args:
        path: the file, for the messages.
        lines: its rows, with their line numbers.
        meanings: the value that each word stands for.
        width: how many words follow the name.
        places: the columns to return.

    Returns:
        the names of the images, and the values in these columns: `[count, columns]`.
    """
    names: list[str] = []
    values: list[list[int]] = []
    for number, line in lines:
        name, *words = line.split()
        if not NAME.fullmatch(name):
            raise DataError(
                f"{path}: line {number} must begin with a file name NAME.jpg; found '{name[:80]}'"
            )
        if len(words) != width:
            raise DataError(
                f"{path}: line {number} must have a name and {width} values; it has {len(words)}"
            )
        if unknown := set(words) - set(meanings):
            raise DataError(
                f"{path}: values must be {' or '.join(meanings)}; "
                f"line {number} has '{min(unknown)[:40]}'"
            )
        names.append(name)
        values.append([meanings[words[place]] for place in places])
    if len(set(names)) < len(names):
        raise DataError(f"{path}: {Counter(names).most_common(1)[0][0]} has more than one row")
    return tuple(names), np.array(values, np.int64).reshape(len(names), len(places))
