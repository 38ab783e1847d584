"""Grids of samples and reconstructions, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from matplotlib import image

from .atomic import whole_file
from .module import Training
from .seeds import Stream, generator

ENLARGED = 2
"""Screen pixels to an image pixel, each way."""


def grid(images: torch.Tensor, columns: int, channels: int, height: int, width: int) -> np.ndarray:
    """`[rows * height, columns * width, channels]`: images `[count, pixels]` side by side, count a multiple."""
    tiles = images.detach().cpu().reshape(-1, columns, channels, height, width)
    return tiles.permute(0, 3, 1, 4, 2).reshape(-1, columns * width, channels).numpy()


def save_grid(path: Path, images: torch.Tensor, columns: int, channels: int, height: int, width: int) -> None:
    """Writes intensities in [0, 1] as a PNG, in colour, or of one channel grey with ink dark as on paper."""
    tiles = grid(images, columns, channels, height, width)
    pixels = tiles.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
    with whole_file(path) as part:
        image.imsave(
            part, pixels[..., 0] if channels == 1 else pixels, cmap="gray_r", vmin=0, vmax=1, format="png"
        )


def with_reconstructions(x: torch.Tensor, means: torch.Tensor, columns: int) -> torch.Tensor:
    """`[2 count, pixels]`: rows of images, each followed by the row of their reconstructions."""
    rows = torch.stack([x.reshape(-1, columns, x.shape[1]), means.reshape(-1, columns, x.shape[1])], 1)
    return rows.reshape(-1, x.shape[1])


def picture_name(kind: str, epoch: int) -> str:
    """The file of a picture.

    Args:
        kind: reconstructions or samples.
        epoch: after which it was drawn, counted from 1.
    """
    return f"{kind}-{epoch:04d}.png"


class Pictures(Callback):
    """Saves `samples-EPOCH.png` and `reconstructions-EPOCH.png` every few epochs and at the last.

    Samples come from the prior alone. Reconstructions show images of the data, so there are none of data
    whose images may not be shown.

    Args:
        folder: for the files.
        x: `[count, pixels]`, images to reconstruct, ten a row; what is left of a row is left out. None for no
            reconstructions.
        size: channels, height and width of an image.
        seed: of the samples, the same at every epoch.
        every: epochs between pictures; 0 for the last epoch alone.
    """

    COLUMNS = 10

    def __init__(
        self,
        folder: Path,
        x: torch.Tensor | None,
        size: tuple[int, int, int],
        seed: int,
        every: int,
    ):
        self.folder = folder
        self.columns = self.COLUMNS if x is None else min(self.COLUMNS, len(x))
        self.x = None if x is None else x[: len(x) // self.columns * self.columns]
        self.size = size
        self.seed = seed
        self.every = every

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws, if it is an epoch's turn."""
        epoch = trainer.current_epoch + 1
        asked = self.every and epoch % self.every == 0
        if trainer.is_global_zero and (asked or epoch == trainer.max_epochs):
            self._save(cast("Training", pl_module), epoch)

    @torch.no_grad()
    def _save(self, training: Training, epoch: int) -> None:
        noise = generator(self.seed, Stream.PICTURES, 0, training.device)
        pictures = {}
        if self.x is not None:
            x = self.x.to(training.device)
            pairs = with_reconstructions(x, training.reconstructed(x, noise), self.columns)
            pictures["reconstructions"] = pairs, self.columns
        pictures["samples"] = training.samples(noise)
        for name, (images, columns) in pictures.items():
            save_grid(self.folder / picture_name(name, epoch), images, columns, *self.size)
