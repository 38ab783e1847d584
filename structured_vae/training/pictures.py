"""Grids of samples and reconstructions, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback

from ..image_grids import save_grid, with_reconstructions
from ..seeds import Stream, generator
from .base import Training
from .forgiving import Forgiving


def picture_name(kind: str, epoch: int) -> str:
    """The file of a picture.

    Args:
        kind: reconstructions or samples.
        epoch: after which it was drawn, counted from 1.
    """
    return f"{kind}-{epoch:04d}.png"


class Pictures(Callback):
    """Saves `samples-EPOCH.png` and `reconstructions-EPOCH.png` every few epochs and at the last.

    A picture that cannot be drawn or written is a warning, once for each of the two; the training
    continues.

    Samples come from the prior alone. Reconstructions show images of the data, so there are none of
    data whose images may not be shown.

    Args:
        folder: for the files.
        x: `[count, pixels]`, images to reconstruct, ten a row; what is left of a row is left out.
            None for no reconstructions.
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
        self._forgiving = Forgiving()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draws, if it is an epoch's turn."""
        epoch = trainer.current_epoch + 1
        asked = self.every and epoch % self.every == 0
        if trainer.is_global_zero and (asked or epoch == trainer.max_epochs or trainer.should_stop):
            self._save(cast("Training", pl_module), epoch)

    @torch.no_grad()
    def _save(self, training: Training, epoch: int) -> None:
        noise = generator(self.seed, Stream.PICTURES, 0, training.device)
        if self.x is not None:
            with self._forgiving("the picture of reconstructions"):
                x = self.x.to(training.device)
                pairs = with_reconstructions(x, training.reconstructed(x, noise), self.columns)
                self._write("reconstructions", epoch, pairs, self.columns)
        with self._forgiving("the picture of samples"):
            self._write("samples", epoch, *training.samples(noise))

    def _write(self, name: str, epoch: int, images: torch.Tensor, columns: int) -> None:
        file = self.folder / picture_name(name, epoch)
        save_grid(file, images, columns, *self.size, inside=self.folder.parent)
