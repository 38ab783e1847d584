"""The aligned faces of CelebA in a folder or a zip, and the decoding of one image."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

SIDE: Final = 64
SIZE: Final = (178, 218)
"""Width and height of an official image."""

SQUARES: Final = {SIZE: 148, (89, 109): 74}
"""The side of the central square for each accepted image size."""

MOST_BYTES: Final = 1_000_000
"""Maximum size of an image file; the official ones have about ten thousand bytes."""

BROKEN: Final = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions that zipfile and Pillow raise on damaged bytes."""


class FaceFiles(Protocol):
    """Image files by name."""

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """The size in bytes of each file, and a number that changes with its content."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        ...


@dataclass(frozen=True)
class FaceFolder:
    """The .jpg files of a folder and its subfolders.

    Attributes:
        folder: the folder.
        paths: the path of each file, by file name.
    """

    folder: Path
    paths: dict[str, Path]

    @classmethod
    def of(cls, folder: Path) -> FaceFolder:
        """List the files of a folder.

        Raises:
            DataError: two files have the same name.
        """
        paths = sorted(folder.rglob("*.jpg"))
        _check_unique(folder, [path.name for path in paths])
        return cls(folder, {path.name: path for path in paths})

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """The size in bytes of each file, and the time of its last change in nanoseconds."""
        stats = {name: path.stat() for name, path in self.paths.items()}
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return self.paths[name].read_bytes()


@dataclass(frozen=True)
class FaceZip:
    """The .jpg members of a zip, which are read without unpacking the zip.

    Attributes:
        archive: the zip, open for reading; threads may share it.
        members: the member of each image, by file name.
    """

    archive: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]

    @classmethod
    def of(cls, path: Path) -> FaceZip:
        """List the images of a zip.

        Raises:
            DataError: the zip is damaged, two members have the same name, or a member's path leads
                outside the zip.
        """
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{path} is damaged, or is not a zip: {error}; replace it by an intact one"
            ) from error
        images = []
        for info in archive.infolist():
            name = PurePosixPath(info.filename)
            if "__MACOSX" in name.parts:
                continue
            if name.is_absolute() or ".." in name.parts or "\\" in str(name):
                raise DataError(f"{path}: the member '{name}' points outside the zip")
            if name.suffix == ".jpg":
                images.append((name.name, info))
        _check_unique(path, [name for name, _ in images])
        return cls(archive, dict(images))

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """The size in bytes and the checksum of each member, as the zip states them."""
        return {name: (info.file_size, info.CRC) for name, info in self.members.items()}

    def read(self, name: str) -> bytes:
        """Return the content of a member, after checking its checksum."""
        return self.archive.read(self.members[name])


def face_files(path: Path, names: Sequence[str]) -> FaceFiles:
    """Return the images in a folder or a zip, after checking that they have these names.

    Raises:
        DataError: an image is missing, is not in `names`, or is too large.
    """
    files: FaceFiles
    if path.is_dir():
        files = FaceFolder.of(path)
    else:
        files = FaceZip.of(path)
    sizes = files.sizes
    missing = sorted(set(names) - set(sizes))
    if missing:
        raise DataError(
            f"{path}: {len(missing)} images of the list of attributes are missing, "
            f"the first is {missing[0]}"
        )
    unlisted = sorted(set(sizes) - set(names))
    if unlisted:
        raise DataError(
            f"{path}: {len(unlisted)} images are not in the list of attributes, "
            f"the first is {unlisted[0]}"
        )
    # The size is checked before any image is decoded.
    largest = max(sizes, key=lambda name: sizes[name][0])
    if sizes[largest][0] > MOST_BYTES:
        raise DataError(
            f"{path}: {largest} has {sizes[largest][0]:,} bytes; the maximum is {MOST_BYTES:,}"
        )
    return files


def face(files: FaceFiles, name: str) -> NDArray[np.uint8]:
    """Decode the central square of an image, red, green and blue: `[3, 64, 64]`.

    The central 148 x 148 of the 178 x 218 pixels, or 74 x 74 of 89 x 109, are cut out and averaged
    down to 64 x 64 (Pillow's bilinear filter).

    Args:
        files: the files that contain the image.
        name: the file name of the image.

    Raises:
        DataError: the image cannot be read, or is not a colour JPEG of one of the two sizes.
    """
    from PIL import Image  # not at the top: `structured-vae-solvers` does not install it

    try:
        with Image.open(io.BytesIO(files.read(name)), formats=["JPEG"]) as image:
            square = SQUARES.get(image.size)
            if square is None or image.mode != "RGB":
                raise ValueError(
                    f"expected RGB of {SIZE[0]} x {SIZE[1]} or 89 x 109 pixels, "
                    f"found {image.mode} of {image.size[0]} x {image.size[1]}"
                )
            left, top = ((side - square) // 2 for side in image.size)
            cut = image.crop((left, top, left + square, top + square))
            small = cut.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (*BROKEN, Image.DecompressionBombError) as error:
        raise DataError(
            f"the image {name} is damaged: {error}; replace it by an intact one"
        ) from error
    return np.asarray(small).transpose(2, 0, 1)


def _check_unique(path: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{path}: two images are called {name}")
        seen.add(name)
