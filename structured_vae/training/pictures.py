"""Save grids of samples and reconstructions as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import lightning.pytorch as pl
import torch

from ..image_grids import save_grid, with_reconstructions
from ..seeds import Stream, generator
from .base import Training
from .between_steps import BetweenSteps
from .forgiving import Forgiving


def picture_name(kind: str, epoch: int) -> str:
    """Return the file name of a picture.

    Args:
        kind: reconstructions or samples.
        epoch: the epoch after which it was drawn, counted from 1.
    """
    return f"{kind}-{epoch:04d}.png"


class Pictures(BetweenSteps):
    """A callback that saves pictures of samples and reconstructions every few epochs.

    The files are `samples-EPOCH.png` and `reconstructions-EPOCH.png`, also after the last epoch. A
    picture that cannot be drawn or written causes a warning, once for each of the two, and the
    training continues.

    Samples come from the prior. Reconstructions show images of the data, so data whose images may
    not be shown have none.

    Args:
        folder: folder of the files.
        x: `[count, pixels]`, images to reconstruct, ten per row; an incomplete row is left out.
            None for no reconstructions.
        size: channels, height and width of an image.
        seed: seed of the samples, the same at every epoch.
        every: epochs between pictures; 0 for the last epoch only.
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
        self.columns = self.COLUMNS
        self.x = x
        if x is not None:
            self.columns = min(self.COLUMNS, len(x))
            self.x = x[: len(x) // self.columns * self.columns]
        self.size = size
        self.seed = seed
        self.every = every
        self._forgiving = Forgiving()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the pictures that are due after this epoch."""
        epoch = trainer.current_epoch + 1
        asked = self.every and epoch % self.every == 0
        if trainer.is_global_zero and (asked or epoch == trainer.max_epochs or trainer.should_stop):
            self._save(cast("Training", pl_module), epoch)

    @torch.no_grad()
    def _save(self, training: Training, epoch: int) -> None:
        # The same noise for every epoch: pictures differ by the training alone.
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
