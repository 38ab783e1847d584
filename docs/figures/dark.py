"""Makes a figure for a dark page of one in dark ink: lightness turned, hues kept, and nothing where there was paper.

`python docs/figures/dark.py docs/_static/NAME.png` writes `NAME-dark.png` beside it. GitHub shows
the README with the one or the other; the pages do the same by a rule in `pages.css`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image


def dark(picture: Image.Image) -> Image.Image:
    """The picture for a dark page, its paper transparent."""
    colours = np.asarray(picture.convert("RGB"), dtype=np.float64) / 255
    turned = colours + 1 - colours.max(axis=2, keepdims=True) - colours.min(axis=2, keepdims=True)
    alpha = turned.max(
        axis=2, keepdims=True
    )  # what is black is nothing, and what is left is as bright as before
    bright = np.divide(turned, alpha, out=np.zeros_like(turned), where=alpha > 0)
    return Image.fromarray(
        np.round(255 * np.concatenate([bright, alpha], axis=2)).astype(np.uint8), "RGBA"
    )


def main(paths: Sequence[str]) -> None:
    for path in map(Path, paths):
        with Image.open(path) as picture:
            dark(picture).save(path.with_name(f"{path.stem}-dark.png"), optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
