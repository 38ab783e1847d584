"""The aligned faces of CelebA, in a folder or a zip, and what is made of one."""

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
"""The side of the central square, by the sizes of image that are read."""

MOST_BYTES: Final = 1_000_000
"""Of an image file; the official ones have about ten thousand."""

BROKEN: Final = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What zipfile and Pillow raise of bytes that are not what they should be."""


class FaceFiles(Protocol):
    """Image files by name."""

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Name -> bytes, and what changes when the content does."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file."""
        ...


@dataclass(frozen=True)
class FaceFolder:
    """The .jpg files of a folder and the folders in it.

    Attributes:
        folder: where.
        paths: by file name.
    """

    folder: Path
    paths: dict[str, Path]

    @classmethod
    def of(cls, folder: Path) -> FaceFolder:
        """The files of a folder.

        Raises:
            DataError: two have the same name.
        """
        found = sorted(folder.rglob("*.jpg"))
        _refuse_twins(folder, [path.name for path in found])
        return cls(folder, {path.name: path for path in found})

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Bytes, and time of the last change in nanoseconds."""
        stats = {name: path.stat() for name, path in self.paths.items()}
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return self.paths[name].read_bytes()


@dataclass(frozen=True)
class FaceZip:
    """The .jpg members of a zip; they are read, never unpacked.

    Attributes:
        archive: open, to read; threads may share it.
        members: by file name.
    """

    archive: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]

    @classmethod
    def of(cls, path: Path) -> FaceZip:
        """The members of a zip.

        Raises:
            DataError: it is damaged, two members have the same name, or one points out of the zip.
        """
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{path} is damaged, or no zip: {error}; replace it by a whole one"
            ) from error
        places = [(PurePosixPath(info.filename), info) for info in archive.infolist()]
        places = [(place, info) for place, info in places if "__MACOSX" not in place.parts]
        for place, _ in places:
            if place.is_absolute() or ".." in place.parts or "\\" in str(place):
                raise DataError(f"{path}: the member '{place}' points out of the zip")
        images = [(place, info) for place, info in places if place.suffix == ".jpg"]
        _refuse_twins(path, [place.name for place, _ in images])
        return cls(archive, {place.name: info for place, info in images})

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Bytes and checksum, as the zip states them."""
        return {name: (info.file_size, info.CRC) for name, info in self.members.items()}

    def read(self, name: str) -> bytes:
        """The content of a member, its checksum tested."""
        return self.archive.read(self.members[name])


def face_files(path: Path, names: Sequence[str]) -> FaceFiles:
    """The images in a folder or a zip, if they are those with these names.

    Raises:
        DataError: an image is missing, has no name here, or is too large.
    """
    files: FaceFiles = FaceFolder.of(path) if path.is_dir() else FaceZip.of(path)
    sizes = files.sizes
    missing, nameless = sorted(set(names) - set(sizes)), sorted(set(sizes) - set(names))
    if missing:
        raise DataError(
            f"{path}: {len(missing)} images of the list of attributes are missing, first {missing[0]}"
        )
    if nameless:
        raise DataError(
            f"{path}: {len(nameless)} images are not in the list of attributes, first {nameless[0]}"
        )
    largest = max(sizes, key=lambda name: sizes[name][0])
    if sizes[largest][0] > MOST_BYTES:
        raise DataError(
            f"{path}: {largest} has {sizes[largest][0]:,} bytes; no face has over {MOST_BYTES:,}"
        )
    return files


def face(files: FaceFiles, name: str) -> NDArray[np.uint8]:
    """`[3, 64, 64]`: the central square of an image, red, green and blue.

    148 x 148 of the 178 x 218 pixels, or 74 x 74 of 89 x 109, are cut out and averaged down to 64 x
    64 (Pillow's bilinear filter).

    Args:
        files: where the image is.
        name: of the image.

    Raises:
        DataError: it cannot be read, or is no colour JPEG of either size.
    """
    from PIL import Image  # `structured-vae-solvers` does without

    try:
        with Image.open(io.BytesIO(files.read(name)), formats=["JPEG"]) as image:
            square = SQUARES.get(image.size)
            if square is None or image.mode != "RGB":
                raise ValueError(
                    f"expected RGB of {SIZE[0]} x {SIZE[1]} or 89 x 109 pixels, found {image.mode} of "
                    f"{image.size[0]} x {image.size[1]}"
                )
            left, top = ((side - square) // 2 for side in image.size)
            cut = image.crop((left, top, left + square, top + square))
            small = cut.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (*BROKEN, Image.DecompressionBombError) as error:
        raise DataError(
            f"the image {name} is damaged: {error}; replace it by an intact one"
        ) from error
    return np.asarray(small).transpose(2, 0, 1)


def _refuse_twins(path: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{path}: two images are called {name}")
        seen.add(name)
