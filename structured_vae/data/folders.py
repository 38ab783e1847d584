"""Images of the user's own, from folders of PNG or JPEG files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

MOST_PIXELS: Final = 1 << 24
"""Of an image; what claims more is not read."""

VALIDATION: Final = ("validation", "valid", "val")
"""What the folder of the validation images may be called."""

GREY: Final = ("1", "L", "LA", "I;16", "I")


def read_folder(folder: str | Path) -> StoredDataset:
    """The images of a folder, all of one size.

    It holds `train/`, `validation/` (or `val/`, `valid/`) and `test/`, or the images of all splits,
    which are then drawn (see `drawn_splits`). The images of each lie in it, or in folders of their
    own, a class each; classes are numbered by the order of their names. Images are grey where all
    of them are, else red, green and blue.

    Args:
        folder: with .png, .jpg, .jpeg or .bmp files.

    Raises:
        DataNotFoundError: there is no such folder.
        DataError: it has no images, an image is damaged or of another size, or splits share images.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataNotFoundError(f"there is no folder {folder.absolute()}")
    parts = _split_folders(folder)
    if not parts:
        return split_up(_read(folder, _classes([folder]), _grey([folder])))
    absent = [name for name in SPLITS if name not in parts]
    if absent:
        raise DataError(
            f"{folder} has folders for {', '.join(parts)} and none for {', '.join(absent)}: add them, or put all "
            "images in one folder, and splits are drawn"
        )
    classes, grey = _classes(parts.values()), _grey(parts.values())
    return whole({name: _read(part, classes, grey) for name, part in parts.items()})


def _split_folders(folder: Path) -> dict[str, Path]:
    names = {"train": ("train",), "validation": VALIDATION, "test": ("test",)}
    found = {
        split: folder / name
        for split, known in names.items()
        for name in known
        if (folder / name).is_dir()
    }
    return found if "train" in found else {}


def _files(folder: Path) -> list[Path]:
    """The images in a folder and in the folders of classes, in the order of their names."""
    found = [
        file for file in (*folder.glob("*"), *folder.glob("*/*")) if file.suffix.lower() in ENDINGS
    ]
    return sorted(file for file in found if file.is_file() and not file.name.startswith("."))


def _classes(folders: Iterable[Path]) -> dict[str, int]:
    names = sorted(
        {file.parent.name for folder in folders for file in _files(folder) if file.parent != folder}
    )
    return {name: number for number, name in enumerate(names)}


def _grey(folders: Iterable[Path]) -> bool:
    return all(_mode(file) in GREY for folder in folders for file in _files(folder))


def _read(folder: Path, classes: dict[str, int], grey: bool) -> StoredSplit:
    files = _files(folder)
    if not files:
        raise DataError(f"{folder} has no images: their files end with {', '.join(ENDINGS)}")
    mixed = {file.parent == folder for file in files}
    if len(mixed) > 1:
        raise DataError(
            f"{folder} has images both in it and in folders of classes; put all of them in folders"
        )
    images = [_pixels(file, grey) for file in files]
    sizes = {image.shape for image in images}
    if len(sizes) > 1:
        odd = next(
            file
            for file, image in zip(files, images, strict=True)
            if image.shape != images[0].shape
        )
        raise DataError(
            f"{odd} is of another size than {files[0]}: {sorted(sizes)}; give all images one size"
        )
    labels = [0 if file.parent == folder else classes[file.parent.name] for file in files]
    return StoredSplit(np.stack(images), np.array(labels, np.int64))


def _mode(file: Path) -> str:
    with _opened(file) as image:
        return image.mode


def _pixels(file: Path, grey: bool) -> NDArray[Any]:
    """`[height, width]` or `[3, height, width]`, uint8."""
    with _opened(file) as image:
        try:
            if grey and image.mode in ("I", "I;16"):  # 16 bits, of which the upper ones are kept
                return (np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8)
            pixels = np.asarray(image.convert("L" if grey else "RGB"))
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{file} is damaged: {error}") from error
    return pixels if grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    """The image, whose header alone has been read."""
    from PIL import Image  # `structured-vae-solvers` does without

    try:
        image = Image.open(file, formats=FORMATS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{file} is no image that can be read: {error}") from error
    with image:
        if image.width * image.height > MOST_PIXELS:
            raise DataError(
                f"{file} has {image.width} x {image.height} pixels; at most {MOST_PIXELS:,} are taken"
            )
        yield image
