"""Save and load the initial weights of custom networks, which no seed can make again."""

from __future__ import annotations

from pathlib import Path

from ..errors import RunError
from ..training.base import Training
from ..training.checkpoints import WholeCheckpoints, damaged, read_checkpoint
from ..training.sound_checkpoint import UnsoundError, require_sound_weights
from .folder import Run


def save_start(run: Run, training: Training, pixels: int) -> None:
    """Write the weights of networks before their first step.

    Raises:
        RunError: the folder cannot be written to.
    """
    run.checkpoints.mkdir(parents=True, exist_ok=True)
    content = {"epoch": -1, "pixels": pixels, "state_dict": training.state_dict()}
    try:
        WholeCheckpoints().save_checkpoint(content, run.start)
    except OSError as error:
        raise RunError(f"{run.folder} cannot be written to: {error}") from error


def load_start(training: Training, start: Path) -> None:
    """Load into custom networks the weights that their run began with.

    Raises:
        RunError: the file does not fit the run's configuration.
    """
    weights = read_checkpoint(start)["state_dict"]
    try:
        require_sound_weights(weights, training)
    except UnsoundError as error:
        raise damaged(start, error) from error
    training.load_state_dict(weights)
