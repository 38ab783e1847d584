"""Save and load the initial weights of custom networks, which no seed can make again."""

from __future__ import annotations

from ..errors import RunError
from ..training.base import Training
from ..training.checkpoints import WholeCheckpoints, damaged, read_checkpoint
from ..training.sound_checkpoint import UnfitError, UnsoundError, require_sound_weights
from ..vaes.config import TrainConfig
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


def load_start(training: Training, run: Run, config: TrainConfig) -> None:
    """Load into custom networks the weights that their run began with.

    Args:
        training: the training of the networks.
        run: the run.
        config: its configuration.

    Raises:
        RunError: the file is damaged, or is of other networks.
    """
    weights = read_checkpoint(run.start)["state_dict"]
    try:
        require_sound_weights(weights, training)
    except UnfitError as error:
        raise run.of_other_networks(config, error) from error
    except UnsoundError as error:
        raise damaged(run.start, error) from error
    training.load_state_dict(weights)
