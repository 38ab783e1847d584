"""Write checkpoints atomically, and read them without unpickling anything."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.plugins.io import CheckpointIO

from ..atomic import whole_file
from ..errors import RunError
from .between_steps import BetweenSteps
from .sound_checkpoint import UnsoundError, require_sound_content


class WholeCheckpoints(CheckpointIO):
    """The input and output of checkpoints: atomic writes, and loading with `weights_only`.

    A file is written under a temporary name beside its target.

    Args:
        folder: folder of the run, which is not created again if it was removed; None for any
            folder.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Write `checkpoint` completely or not at all.

        Raises:
            OSError: the disk is full, or the folder cannot be written to.
        """
        # On a full disk the writer of torch says "unexpected pos 576 vs 534".
        content = io.BytesIO()
        torch.save(checkpoint, content)
        inside = self.folder
        if inside not in Path(path).parents:
            inside = None
        with whole_file(Path(path), inside) as temporary:
            temporary.write_bytes(content.getbuffer())

    def load_checkpoint(
        self, path: str | Path, map_location: Any = None, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Read tensors and plain values to the host; nothing in the file is executed.

        Raises:
            RunError: the file is missing or damaged, or it holds anything else.
        """
        return read_checkpoint(Path(path), map_location or "cpu")

    def remove_checkpoint(self, path: str | Path) -> None:
        """Delete the file."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path, device: Any = "cpu", instead: str = "") -> dict[str, Any]:
    """Return tensors and plain values of a checkpoint file, after a test of its checksums.

    Args:
        path: the file.
        device: where tensors go.
        instead: the command or call that uses the other checkpoint of the run.

    Raises:
        RunError: the file is missing or damaged, or it holds anything else.
    """
    if not path.exists():
        raise RunError(f"{path} does not exist: the run has not come to its first evaluation")
    if not path.is_file():
        raise RunError(
            f"{path} is not a file but a folder, pipe or device: put the checkpoint there"
        )
    try:
        file_size = _refuse_archive(path)
        # Nothing in a checkpoint may name code to run, hence `weights_only`.
        content = torch.load(path, map_location=device, weights_only=True)
        require_sound_content(content, file_size)
    # Damaged files raise errors of many types, from zip to pickle; all mean the same here.
    except Exception as error:
        reason = type(error).__name__
        if isinstance(error, UnsoundError):
            reason = str(error)
        raise RunError(
            f"{path} is damaged or not a checkpoint of ours ({reason}){_advice(instead)}"
        ) from error
    return content  # type: ignore[no-any-return]  # what torch.load gave, checked above


def damaged(path: Path, error: UnsoundError, instead: str = "") -> RunError:
    """Return the error for a checkpoint with a wrong value.

    Args:
        path: the file.
        error: the wrong value.
        instead: the command or call that uses the other checkpoint of the run.
    """
    return RunError(
        f"{path} is damaged or does not fit the run's configuration: {error}{_advice(instead)}"
    )


def _advice(instead: str) -> str:
    if not instead:
        return ""
    return f". The other one of the run may still serve: {instead}"


def _refuse_archive(path: Path) -> int:
    """Test all checksums, and return the size of the file.

    Raises:
        UnsoundError: a checksum is wrong, or the archive would become larger than the file when it
            is unpacked.
    """
    file_size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        # A compressed or overlapping member could unpack to far more memory than the file suggests.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise UnsoundError("it is compressed, which a checkpoint never is")
        if sum(member.file_size for member in members) > file_size:
            raise UnsoundError(f"its parts claim more than the {file_size:,} bytes of the file")
        wrong = archive.testzip()
    if wrong is not None:
        raise UnsoundError(f"the checksum of {wrong} is wrong")
    return file_size


class EpochCheckpoints(BetweenSteps, Checkpoint):
    """A callback that saves `last.ckpt` after every epoch, and `best.ckpt` after the best.

    The best epoch has the lowest metric so far. The callback of Lightning forgets the best epoch
    when the run folder is moved.

    Args:
        folder: folder of the two files.
        monitored: name of the metric.
    """

    def __init__(self, folder: Path, monitored: str):
        self.folder = folder
        self.monitored = monitored
        self.best = math.inf

    def state_dict(self) -> dict[str, Any]:
        """Return the lowest value so far."""
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the value of a checkpoint."""
        self.best = float(state_dict["best"])

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save the checkpoints of the epoch."""
        # The metric is that of the last evaluation.
        value = float(trainer.callback_metrics.get(self.monitored, math.inf))
        if value < self.best:
            self.best = value
            trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=False)
        trainer.save_checkpoint(self.folder / "last.ckpt", weights_only=False)
