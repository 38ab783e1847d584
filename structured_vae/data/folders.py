"""The user's own images, from folders of PNG, JPEG or BMP files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataNotFoundError
from .in_memory import split_up, whole
from .reader import StoredDataset, StoredSplit
from .splits import SPLITS

if TYPE_CHECKING:
    from PIL import Image

ENDINGS: Final = (".png", ".jpg", ".jpeg", ".bmp")
FORMATS: Final = ("PNG", "JPEG", "BMP")

LARGEST_IMAGE: Final = 1 << 24
"""Maximum number of pixels of an image."""

FOLDER_NAMES: Final = {
    "train": ("train",),
    "validation": ("validation", "valid", "val"),
    "test": ("test",),
}
"""The names that the folder of each split may have."""

GREY: Final = ("1", "L", "LA", "I;16", "I")
"""Pillow's modes of images without colour."""

SIXTEEN_BITS: Final = ("I;16", "I")
"""Pillow's modes of grey images with 16 bits."""


def read_folder(folder: str | Path) -> StoredDataset:
    """Read the images of a folder, which must all have one size.

    The folder holds `train/`, `validation/` (or `val/`, `valid/`) and `test/`. Otherwise it holds
    all images, and the splits are drawn at random (see `drawn_splits`). The images lie directly in
    a split's folder, or in one subfolder per class; classes are numbered in the order of their
    names. If all images are grey, they are read as grey; otherwise as red, green and blue.
    Transparent pixels become white.

    Args:
        folder: a folder with .png, .jpg, .jpeg or .bmp files.

    Raises:
        DataNotFoundError: there is no such folder.
        DataError: the folder has no images, an image is damaged or has another size, or two splits
            share an image.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataNotFoundError(f"there is no folder {folder.absolute()}")
    split_folders = _split_folders(folder)
    if not split_folders:
        return split_up(_read(folder, _classes([folder]), _all_grey([folder])))
    absent = [name for name in SPLITS if name not in split_folders]
    if absent:
        raise DataError(
            f"{folder} has folders for {', '.join(split_folders)} and none for "
            f"{', '.join(absent)}: add them, or put all images in one folder so that the splits "
            "are drawn at random"
        )
    classes = _classes(split_folders.values())
    grey = _all_grey(split_folders.values())
    return whole({name: _read(path, classes, grey) for name, path in split_folders.items()})


def _split_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each split; nothing if there is no folder of training images."""
    folders = {
        split: folder / name
        for split, names in FOLDER_NAMES.items()
        for name in names
        if (folder / name).is_dir()
    }
    if "train" in folders:
        return folders
    return {}


def _files(folder: Path) -> list[Path]:
    """Return the images in a folder and in its class folders, sorted by path."""
    paths = (*folder.glob("*"), *folder.glob("*/*"))
    images = [path for path in paths if path.suffix.lower() in ENDINGS]
    return sorted(path for path in images if path.is_file() and not path.name.startswith("."))


def _classes(folders: Iterable[Path]) -> dict[str, int]:
    """Return the number of each class, in the order of the names of their folders."""
    names = sorted(
        {file.parent.name for folder in folders for file in _files(folder) if file.parent != folder}
    )
    return {name: number for number, name in enumerate(names)}


def _all_grey(folders: Iterable[Path]) -> bool:
    return all(_mode(file) in GREY for folder in folders for file in _files(folder))


def _read(folder: Path, classes: dict[str, int], grey: bool) -> StoredSplit:
    files = _files(folder)
    if not files:
        raise DataError(f"{folder} has no images: their files end with {', '.join(ENDINGS)}")
    without_class = [file for file in files if file.parent == folder]
    if 0 < len(without_class) < len(files):
        raise DataError(
            f"{folder} has images both in it and in class folders; move all images into "
            "class folders"
        )
    images = [_pixels(file, grey) for file in files]
    _check_one_size(files, images)
    labels = [0] * len(files)
    if not without_class:
        labels = [classes[file.parent.name] for file in files]
    return StoredSplit(np.stack(images), np.array(labels, np.int64))


def _check_one_size(files: Sequence[Path], images: Sequence[NDArray[Any]]) -> None:
    for file, image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            sizes = sorted({image.shape for image in images})
            raise DataError(
                f"{file} and {files[0]} differ in size: {sizes}; resize all images to one size"
            )


def _mode(file: Path) -> str:
    with _opened(file) as image:
        return image.mode


def _pixels(file: Path, grey: bool) -> NDArray[Any]:
    """Read an image as uint8 `[height, width]`, or in colour `[3, height, width]`."""
    mode = "RGB"
    if grey:
        mode = "L"
    with _opened(file) as image:
        try:
            pixels = np.asarray(_on_white(_of_eight_bits(image)).convert(mode))
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{file} is damaged: {error}") from error
    if grey:
        return pixels
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _of_eight_bits(image: Image.Image) -> Image.Image:
    """Return the upper bits of an image with 16 bits, which Pillow would clip at 255."""
    from PIL import Image  # not at the top: `structured-vae-solvers` does not install it

    if image.mode not in SIXTEEN_BITS:
        return image
    upper_bits = np.asarray(image).astype(np.uint16) >> 8
    return Image.fromarray(upper_bits.astype(np.uint8))


def _on_white(image: Image.Image) -> Image.Image:
    """Return an image on a white ground; drawings often hold their shape in transparency alone."""
    from PIL import Image  # not at the top: `structured-vae-solvers` does not install it

    if "A" not in image.getbands() and "transparency" not in image.info:
        return image
    layer = image.convert("RGBA")
    ground = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(ground, layer)


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    """Open an image and read only its header."""
    from PIL import Image  # not at the top: `structured-vae-solvers` does not install it

    try:
        image = Image.open(file, formats=FORMATS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{file} cannot be read as an image: {error}") from error
    with image:
        if image.width * image.height > LARGEST_IMAGE:
            raise DataError(
                f"{file} has {image.width} x {image.height} pixels; "
                f"the maximum is {LARGEST_IMAGE:,} pixels"
            )
        yield image
