"""The kind `quantised`: one code for each image, by a quantiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch

from models import quantised_vae
from models.errors import SettingError
from models.networks.token_grids import square_size
from models.priors import AutoregressivePrior, Prior, PriorOptions, named_prior
from models.vaes import QuantisedVAE

from ...errors import ConfigError
from ...estimators import Estimator
from ...evaluation.quantities import Evaluation
from ...training.base import Training
from ..config import known
from ..kind import Coded, Kind, Question
from ..options import training_options
from ..shown import Shown
from .config import QuantisedConfig
from .evaluation import evaluate_quantised
from .page import ShownCodes
from .training import QuantisedTraining


class QuantisedKind(Kind[QuantisedConfig, QuantisedVAE]):
    """One code for each image, without noise."""

    vae = QuantisedVAE
    why_unweighted = (
        "its posterior is one code for each image, so every number of samples has the same bound"
    )

    def networks(self, config: QuantisedConfig, pixels: int) -> QuantisedVAE:
        """Return networks with fresh weights.

        Raises:
            ConfigError: the networks do not fit the images, or the variables the networks.
        """
        try:
            size = _size(pixels, config.networks)
            return quantised_vae(
                config.quantiser,
                size=size,
                n=config.n,
                codes=known(config.codes),
                dimensions=known(config.dimensions),
                networks=config.networks,
                hidden=config.hidden,
                channels=config.channels,
                likelihood=config.likelihood,
                prior=PriorOptions(config.code_prior, config.prior_hidden, config.prior_layers),
            )
        except SettingError as error:
            raise ConfigError(str(error)) from error

    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the size of the images that the networks were made for."""
        return int(weights["size"].prod())

    def training(
        self, config: QuantisedConfig, vae: QuantisedVAE, estimator: Estimator | None
    ) -> Training:
        """Return the training by straight-through gradients.

        Raises:
            ConfigError: an estimator is passed.
        """
        if estimator is not None:
            raise ConfigError("the model quantised takes no estimator: leave it out, estimator=...")
        return QuantisedTraining(
            vae,
            training_options(config),
            commitment=known(config.commitment),
            code_entropy=known(config.code_entropy),
        )

    def evaluate(self, question: Question[QuantisedConfig, QuantisedVAE]) -> Evaluation:
        """Return the bound with its parts, codebook use and perplexity."""
        return evaluate_quantised(question.vae, question.batches)

    def coded(self, config: QuantisedConfig, vae: QuantisedVAE) -> Coded[QuantisedVAE]:
        """Return the code of each image, for an autoregressive prior."""

        def codes(x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
            return vae.code(x)

        def with_prior(prior: Prior) -> QuantisedVAE:
            if not isinstance(prior, AutoregressivePrior):
                raise ConfigError(
                    "codes of a quantiser have a factorised prior already: fit linear, made or "
                    f"transformer; got {prior.name}"
                )
            return vae.with_prior(prior)

        def fresh(options: PriorOptions) -> Prior | None:
            return named_prior(options, vae.states)

        return Coded(fresh, codes, with_prior, option="code_prior")

    def shown(self, vae: QuantisedVAE) -> Shown:
        """Return codes as the explorer shows them."""
        return ShownCodes(vae)


def _size(pixels: int, networks: str) -> tuple[int, int, int]:
    """Return channels, height and width of images; one row where dense networks take others.

    Raises:
        SettingError: convolutional networks take no such image.
    """
    try:
        return square_size(pixels)
    except SettingError:
        if networks == "convolutional":
            raise
        return 1, 1, pixels


KIND: Final = QuantisedKind()
