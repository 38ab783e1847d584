"""An image file from the browser as an image for the encoder."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..data.binarisation import BINARISATIONS
from ..errors import DataError

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
LARGEST_UPLOAD: Final = 25_000_000
"""Maximum number of pixels of an upload; a small file can declare more than memory holds."""

FINER: Final = 32
"""Minimum pixels of a reduced upload per pixel of the model, in each direction.

The last averages are then nearly exact.
"""

STRIP: Final = 1 << 20
"""The number of pixels of an upload that are converted at once."""

LONGEST_SIDE: Final = 20_000
"""Most rows of an upload, which cost memory too."""


def read_colours(content: bytes, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the central square of an image file in colour, at the size of the model.

    The values `[3 * height * width]` are in [0, 1], plane by plane.

    Args:
        content: of the file.
        size: height and width that the model takes.

    Raises:
        DataError: it is no image, or too large a one.
    """
    image = _on_paper(content, size)
    side = min(image.size)
    left = (image.width - side) // 2
    top = (image.height - side) // 2
    square = image.crop((left, top, left + side, top + side))
    values = np.asarray(square.resize((size[1], size[0]), Image.Resampling.BOX), dtype=np.float32)
    pixels: NDArray[np.float32] = values.transpose(2, 0, 1).reshape(-1) / np.float32(255)
    return pixels


def read_upload(content: bytes, size: tuple[int, int], binarisation: str) -> NDArray[np.float32]:
    """Return an image file as binarised grey `[pixels]`, with ink as 1, at the model's size.

    Ink is what differs from the border: dark on white paper, or bright on black as in MNIST's own
    files.

    Args:
        content: of the file.
        size: height and width that the model takes.
        binarisation: as `load_dataset` has it.

    Raises:
        DataError: it is no image, or too large a one.
    """
    grey = _on_paper(content, size).convert("L").resize((size[1], size[0]), Image.Resampling.BOX)
    values = np.asarray(grey)
    border = np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])
    ink = values
    if np.median(border) > 127:
        ink = 255 - values
    pixels: NDArray[np.float32] = BINARISATIONS[binarisation].binarise(ink.reshape(1, -1), 0)[0]
    return pixels


def _opened(content: bytes) -> Image.Image:
    with warnings.catch_warnings():
        # the caller looks at the size
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(BytesIO(content), formats=FORMATS)


def _on_paper(content: bytes, size: tuple[int, int]) -> Image.Image:
    """Return the image in colour, no smaller than `size` needs, on a white background.

    A large one is reduced before its colours are converted, and a JPEG while it is decoded, so that
    an upload takes little more memory than its own pixels.
    """
    try:
        with _opened(content) as image:
            if image.width * image.height > LARGEST_UPLOAD or max(image.size) > LONGEST_SIDE:
                raise DataError(
                    f"the image has {image.width} x {image.height} pixels; "
                    f"at most {LARGEST_UPLOAD:,} are read, and "
                    f"{LONGEST_SIDE:,} on a side: make it smaller first"
                )
            wanted = FINER * max(size)
            if min(image.size) > 2 * wanted:
                image.draft("RGB", (wanted, wanted))
            image.load()
            return _reduced(image, max(1, min(image.size) // wanted))
    except (
        UnidentifiedImageError,
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ) as error:
        if isinstance(error, DataError):
            raise
        # Pillow names the object in memory, not the file, of what it does not know at all.
        if isinstance(error, UnidentifiedImageError):
            why = ""
        else:
            why = f": {error}"
        raise DataError(f"this is no image that can be read ({', '.join(FORMATS)}){why}") from error


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """Return the image on white, reduced by a factor in each direction, strip by strip."""
    reduced = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    rows = factor * max(1, STRIP // (factor * image.width))
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height))).convert("RGBA")
        paper = Image.new("RGBA", strip.size, "white")
        coloured = Image.alpha_composite(paper, strip).convert("RGB")
        reduced.paste(coloured.reduce(factor), (0, top // factor))
    return reduced
