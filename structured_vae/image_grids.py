"""Images side by side, as arrays and PNG files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from matplotlib import image

from .atomic import whole_file

ENLARGED = 2
"""Screen pixels to an image pixel, each way."""


def grid(images: torch.Tensor, columns: int, channels: int, height: int, width: int) -> np.ndarray:
    """`[rows * height, columns * width, channels]`: images `[count, pixels]` side by side, count a multiple."""
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
    """Write intensities as a PNG, in colour, or of one channel grey with ink dark as on paper.

    Values below 0 are shown as 0 and values above 1 as 1.
    """
    shown = images.nan_to_num(nan=0.0).clamp(0, 1)  # the means of a Gaussian may lie outside
    tiles = grid(shown, columns, channels, height, width)
    pixels = tiles.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
    with whole_file(path, inside) as part:
        image.imsave(
            part,
            pixels[..., 0] if channels == 1 else pixels,
            cmap="gray_r",
            vmin=0,
            vmax=1,
            format="png",
        )


def with_reconstructions(x: torch.Tensor, means: torch.Tensor, columns: int) -> torch.Tensor:
    """`[2 count, pixels]`: rows of images, each followed by the row of their reconstructions."""
    rows = torch.stack(
        [x.reshape(-1, columns, x.shape[1]), means.reshape(-1, columns, x.shape[1])], 1
    )
    return rows.reshape(-1, x.shape[1])
