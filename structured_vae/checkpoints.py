"""Checkpoints that are written whole, and read without unpickling anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import CheckpointIO

from .atomic import whole_file
from .errors import RunError

MONITORED = "validation/bound_surrogate"
"""What the best epoch is chosen by: finite for every encoder, and the paper's own number."""


class WholeCheckpoints(CheckpointIO):
    """Saves under a temporary name beside the target, loads with `weights_only`."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Writes `checkpoint`, whole or not at all."""
        with whole_file(Path(path)) as part:
            torch.save(checkpoint, part)

    def load_checkpoint(
        self, path: str | Path, map_location: Any = None, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Reads tensors and plain values; nothing in the file is executed.

        Raises:
            RunError: the file is damaged or holds anything else.
        """
        return read_checkpoint(Path(path), map_location)

    def remove_checkpoint(self, path: str | Path) -> None:
        """Deletes the file."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path, device: Any = "cpu") -> dict[str, Any]:
    """Tensors and plain values of a checkpoint file.

    Raises:
        RunError: there is no such file, it is damaged, or it holds anything else.
    """
    if not path.is_file():
        raise RunError(f"{path} does not exist: the run has not reached the end of its first epoch")
    try:
        return torch.load(path, map_location=device, weights_only=True)  # type: ignore[no-any-return]
    except Exception as error:
        raise RunError(
            f"{path} is damaged or not a checkpoint of ours ({type(error).__name__}): delete it, and the "
            "other checkpoint of the run (last.ckpt or best.ckpt) may still serve"
        ) from error


def epoch_checkpoints(folder: Path) -> ModelCheckpoint:
    """Keeps `last.ckpt` and, by `MONITORED`, `best.ckpt`, at the end of every epoch."""
    return ModelCheckpoint(
        dirpath=folder,
        filename="best",
        monitor=MONITORED,
        save_last=True,
        save_on_train_epoch_end=True,
        enable_version_counter=False,
    )
