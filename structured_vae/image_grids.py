"""Grids of images, as arrays and PNG files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from .atomic import whole_file

ENLARGED = 2
"""Factor by which images are enlarged in each direction."""


def grid(images: torch.Tensor, columns: int, channels: int, height: int, width: int) -> np.ndarray:
    """Arrange images in a grid.

    Args:
        images: `[count, pixels]`, where count is a multiple of `columns`.
        columns: the number of images in a row of the grid.
        channels: 1 for grey, 3 for red, green and blue.
        height: the height of an image in pixels.
        width: the width of an image in pixels.

    Returns:
        `[rows * height, columns * width, channels]`.
    """
    tiles = images.detach().cpu().reshape(-1, columns, channels, height, width)
    return tiles.permute(0, 3, 1, 4, 2).reshape(-1, columns * width, channels).numpy()


def save_grid(
    path: Path,
    images: torch.Tensor,
    columns: int,
    channels: int,
    height: int,
    width: int,
    inside: Path | None = None,
) -> None:
    """Write a grid of images as a PNG: in colour, or dark on white if there is one channel.

    Args:
        path: the file.
        images: intensities `[count, pixels]`; values outside [0, 1] are clipped.
        columns: as in `grid`.
        channels: as in `grid`.
        height: as in `grid`.
        width: as in `grid`.
        inside: as in `whole_file`.

    Raises:
        OSError: the file cannot be written.
    """
    shown = images.nan_to_num(nan=0.0).clamp(0, 1)  # the means of a Gaussian may lie outside
    tiles = grid(shown, columns, channels, height, width)
    levels = (255 * tiles).round().astype(np.uint8)
    pixels = levels.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
    if channels == 1:
        pixels = 255 - pixels[..., 0]
    with whole_file(path, inside) as unfinished:
        Image.fromarray(pixels).save(unfinished, format="png")


def with_reconstructions(x: torch.Tensor, means: torch.Tensor, columns: int) -> torch.Tensor:
    """Interleave rows of images with rows of their reconstructions: `[2 count, pixels]`.

    Args:
        x: images `[count, pixels]`, where count is a multiple of `columns`.
        means: their reconstructions, `[count, pixels]`.
        columns: the number of images in a row.
    """
    rows = torch.stack(
        [x.reshape(-1, columns, x.shape[1]), means.reshape(-1, columns, x.shape[1])], 1
    )
    return rows.reshape(-1, x.shape[1])
