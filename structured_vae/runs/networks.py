"""Build the networks of a configuration, new or with the weights of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from models import DiscreteVAE

from ..errors import RunError, shortened
from ..training.checkpoints import damaged, read_checkpoint
from ..training.sound_checkpoint import UnfitError, UnsoundError, require_sound_weights
from ..vaes.config import TrainConfig
from ..vaes.registry import AnyVAE, kind_of
from .custom_objects import CustomObjects
from .folder import Run, Which

MOST_VALUES: Final = 1 << 30
"""Maximum size of an image, in values, that a start checkpoint may state."""


def vae_of(config: TrainConfig, pixels: int) -> AnyVAE:
    """Return networks with fresh weights, as a configuration names them."""
    vae: AnyVAE = kind_of(config).networks(config, pixels)
    return vae


def load_vae(folder: str | Path, which: Which = "best", model: DiscreteVAE | None = None) -> AnyVAE:
    """Return the trained networks of a run, on the CPU, ready to use.

    Args:
        folder: the run's folder.
        which: the best epoch on the validation split, or the last one.
        model: for a run with custom networks, these networks; their weights are replaced. A run
            holds only weights, and never says which code to run.

    Raises:
        RunError: the folder is not a run, or its checkpoint is missing or damaged; or the
            checkpoint is of other networks.
        ConfigError: `model` is missing, or was passed for a run without custom networks.
    """
    run = Run.at(folder)
    config = run.config()
    CustomObjects(model, dataset=None, estimator=None).check_model(config)
    file = run.checkpoint(which)
    instead = run.instead_of(which, config)
    state = read_checkpoint(file, instead=instead)["state_dict"]
    prefix = "vae."  # beside it there is what the estimator has learnt
    weights = {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }
    try:
        vae: AnyVAE
        if model:
            vae = _sized(model, run)
        else:
            vae = _fitting(config, weights)
        require_sound_weights(weights, vae)
        vae.load_state_dict(weights)
    except UnfitError as error:
        if model:
            raise run.of_other_networks(config, error) from error
        raise damaged(file, error, instead) from error
    except UnsoundError as error:
        raise damaged(file, error, instead) from error
    except (KeyError, RuntimeError) as error:
        raise RunError(f"{file} does not fit the run's configuration: {error}") from error
    return vae.eval()


def _fitting(config: TrainConfig, weights: dict[str, Tensor]) -> AnyVAE:
    """Return networks of a configuration that these weights fit.

    Raises:
        UnsoundError: the weights fit none.
        KeyError: a weight is missing.
    """
    pixels = kind_of(config).pixels(weights)
    with torch.device("meta"):  # no memory is taken for networks that do not fit
        require_sound_weights(weights, vae_of(config, pixels))
    return vae_of(config, pixels)


def _sized(model: DiscreteVAE, run: Run) -> DiscreteVAE:
    """Return custom networks that know the size of the run's images."""
    if run.start.exists():
        model.fit_to(_stored_pixels(run.start))
    return model.cpu()


def _stored_pixels(start: Path) -> int:
    """Return the size of the images that custom networks began with.

    Raises:
        RunError: the file does not say.
    """
    pixels = read_checkpoint(start).get("pixels")
    if type(pixels) is not int or not 1 <= pixels <= MOST_VALUES:
        raise damaged(
            start, UnsoundError(f"pixels must be a count of pixels; got {shortened(pixels)}")
        )
    return pixels
