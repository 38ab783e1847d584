"""Images decoded once, into a memory-mapped array of the per-user cache."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from tqdm import tqdm

from ...atomic import whole_file
from ...errors import DataDownloadError, DataError

TOGETHER: Final = 100
"""Number of images that a thread decodes at a time."""

CHECKED_TOGETHER: Final = 1 << 24
"""Number of bytes that go into the checksum at a time."""


def decoded(
    path: Path, shape: tuple[int, ...], decode: Callable[[int], NDArray[np.uint8]], title: str
) -> NDArray[np.uint8]:
    """Map the images of a cache file into memory, and make the file first if it is missing.

    The map is copy-on-write: changes to the array stay in memory.

    Args:
        path: the .npy file. Its name must change when its content would; its checksum lies beside
            it.
        shape: `(count, *image_shape)`.
        decode: returns the image with this index; called in several threads.
        title: the title of the progress bar, which a terminal shows after one second.

    Returns:
        uint8 array of shape `shape`.

    Raises:
        DataError: the file or an image is damaged.
        DataDownloadError: the disk has no room for the file.
    """
    checksum = path.with_suffix(".crc32")
    if not (path.exists() and checksum.exists()):
        _make(path, shape, decode, title)
        with whole_file(checksum) as unfinished:
            unfinished.write_text(_crc(np.load(path, mmap_mode="r")), encoding="ascii")
    try:
        images: NDArray[np.uint8] = np.load(path, mmap_mode="c", allow_pickle=False)
        if (
            images.shape != shape
            or images.dtype != np.uint8
            or _crc(images) != checksum.read_text("ascii")
        ):
            raise ValueError("its content differs from what was written")
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"{path} is damaged: {error}. Delete it; the next call makes it again"
        ) from error
    return images


def _make(
    path: Path, shape: tuple[int, ...], decode: Callable[[int], NDArray[np.uint8]], title: str
) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Writing to a map on a full disk would kill the process, so check beforehand.
        _check_disk_space(path.parent, int(np.prod(shape)))
        with whole_file(path) as unfinished:
            images = np.lib.format.open_memmap(unfinished, mode="w+", dtype=np.uint8, shape=shape)
            _fill(images, decode, title)
            images.flush()
    except OSError as error:
        raise DataDownloadError(f"{path} cannot be written: {error}") from error


def _fill(
    images: NDArray[np.uint8], decode: Callable[[int], NDArray[np.uint8]], title: str
) -> None:
    def decode_some(places: range) -> int:
        for place in places:
            images[place] = decode(place)
        return len(places)

    places = range(len(images))
    chunks = [places[start : start + TOGETHER] for start in places[::TOGETHER]]
    with (
        tqdm(total=len(images), desc=title, delay=1, leave=False, disable=None) as bar,
        ThreadPoolExecutor(cpu_count()) as pool,
    ):
        for count in pool.map(decode_some, chunks):
            bar.update(count)


def _check_disk_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(f"it needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free")


def _crc(images: NDArray[np.uint8]) -> str:
    content = images.reshape(-1)
    crc = 0
    for start in range(0, len(content), CHECKED_TOGETHER):
        crc = zlib.crc32(content[start : start + CHECKED_TOGETHER].data, crc)
    return f"{crc:08x}"
