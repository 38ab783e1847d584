"""The networks of a configuration, new or as a run has trained them."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import torch
from torch import Tensor

from models import AttributeVAE, DiscreteVAE, GaussianVAE, MixtureVAE, paper_vae
from models.attributes import PIXELS

from ..errors import RunError, shortened
from ..training.checkpoints import damaged, read_checkpoint
from ..training.sound_checkpoint import UnsoundError, require_sound_weights
from .config import TrainConfig
from .folder import Run, Which
from .given import Given

AnyVAE: TypeAlias = DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE
"""What a configuration can name."""

AnyDiscreteVAE: TypeAlias = DiscreteVAE | MixtureVAE | AttributeVAE
"""Those whose gradients need an estimator."""

MOST_PIXELS: Final = 1 << 30
"""Values of an image."""

BIAS, GAUSSIAN_BIAS = "decoder.last.bias", "decoder.2.bias"
"""Of the pixels, in a checkpoint."""


def vae_of(config: TrainConfig, pixels: int) -> AnyVAE:
    """The networks that a configuration names; those of attributes have a size of image of their own."""
    if config.model == "attributes":
        return AttributeVAE(config.encoder, n=config.latent, channels=config.channels)
    if config.model == "mixture":
        return MixtureVAE(pixels, config.k, styles=config.styles)
    if config.kind == "gaussian":
        return GaussianVAE(pixels, config.n, config.hidden)
    return paper_vae(
        config.encoder,
        pixels=pixels,
        n=config.latent,
        hidden=config.hidden,
        prior=config.prior,
        bandwidth=config.bandwidth,
        variables=config.variables,
        couplings=config.couplings,
    )


def load_vae(folder: str | Path, which: Which = "best", model: DiscreteVAE | None = None) -> AnyVAE:
    """The trained networks of a run, on the host, ready to use.

    Args:
        folder: of the run.
        which: the best epoch on the validation split, or the last one.
        model: of a run with networks of one's own these networks, whose weights are replaced: a run
            holds weights, and never says which code to run.

    Raises:
        RunError: the folder is not a run or its checkpoint is missing or damaged; or it is of other
            networks.
        ConfigError: the networks are to be given, or must not be.
    """
    run = Run.at(folder)
    config = run.config()
    Given(model, dataset=None, estimator=None).check_model(config)
    file = run.checkpoint(which)
    state = read_checkpoint(file)["state_dict"]
    prefix = "vae."  # beside it there is what the estimator has learned
    weights = {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }
    try:
        if model is None:
            with torch.device("meta"):  # no memory is taken for networks that do not fit
                require_sound_weights(weights, vae_of(config, _pixels(config, weights)))
        vae: AnyVAE = _sized(model, run) if model else vae_of(config, _pixels(config, weights))
        require_sound_weights(weights, vae)
        vae.load_state_dict(weights)
    except UnsoundError as error:
        raise damaged(file, error) from error
    except (KeyError, RuntimeError) as error:
        raise RunError(f"{file} does not fit the run's configuration: {error}") from error
    return vae.eval()


def _sized(model: DiscreteVAE, run: Run) -> DiscreteVAE:
    """Networks of one's own that know the size of the run's images."""
    if run.start.exists():
        model.fit_to(_stored_pixels(run.start))
    return model.cpu()


def _stored_pixels(start: Path) -> int:
    """The size of the images that networks of one's own began with.

    Raises:
        RunError: the file does not say.
    """
    pixels = read_checkpoint(start).get("pixels")
    if type(pixels) is not int or not 1 <= pixels <= MOST_PIXELS:
        raise damaged(
            start, UnsoundError(f"pixels must be a count of pixels; got {shortened(pixels)}")
        )
    return pixels


def _pixels(config: TrainConfig, weights: dict[str, Tensor]) -> int:
    return (
        PIXELS
        if config.model == "attributes"
        else weights[GAUSSIAN_BIAS if config.kind == "gaussian" else BIAS].numel()
    )
