"""The kind `gaussian`: the reference with a continuous latent space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch

from models.priors import DensityPrior, PriorOptions, named_density
from models.vaes import GaussianVAE

from ...errors import ConfigError, RunError
from ...estimators import Estimator
from ...evaluation.quantities import Evaluation
from ...schedules import Ramp
from ...training.base import Training
from ..config import known
from ..kind import Coded, Kind, Question
from ..options import training_options
from ..shown import Shown
from .config import GaussianConfig
from .evaluation import evaluate_gaussian
from .training import GaussianTraining

SAMPLES: Final = 200
"""The number of samples of the code per image with which the likelihood is usually reported."""


class GaussianKind(Kind[GaussianConfig, GaussianVAE]):
    """n continuous dimensions."""

    vae = GaussianVAE
    why_unweighted = ""

    def networks(self, config: GaussianConfig, pixels: int) -> GaussianVAE:
        """Return the layers of the discrete models with fresh weights."""
        return GaussianVAE.of_arguments(
            pixels,
            config.n,
            config.hidden,
            config.prior,
            config.prior_hidden,
            config.prior_layers,
        )

    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the length of the decoder's last bias."""
        return weights["decoder.2.bias"].numel()

    def training(
        self, config: GaussianConfig, vae: GaussianVAE, estimator: Estimator | None
    ) -> Training:
        """Return the training by reparameterisation.

        Raises:
            ConfigError: an estimator is given.
        """
        if estimator is not None:
            raise ConfigError("the model gaussian takes no estimator: leave it out, estimator=...")
        kl_weight = Ramp(known(config.kl_warmup), known(config.kl_start))
        return GaussianTraining(vae, training_options(config), kl_weight=kl_weight)

    def evaluate(self, question: Question[GaussianConfig, GaussianVAE]) -> Evaluation:
        """Return the bound with its parts, the likelihood and the dimensions in use."""
        samples = question.samples_or(SAMPLES)
        return evaluate_gaussian(
            question.vae, question.batches, question.noise, samples, question.importance
        )

    def coded(self, config: GaussianConfig, vae: GaussianVAE) -> Coded[GaussianVAE]:
        """Return codes that the posterior draws, to fit a density of continuous variables."""

        def codes(x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
            return vae.posterior(x).sample(noise)

        def fresh(options: PriorOptions) -> DensityPrior | None:
            return named_density(options, vae.n)

        return Coded(fresh, codes, vae.with_prior)

    def shown(self, vae: GaussianVAE) -> Shown:
        """Raise, since a continuous code has no states to show.

        Raises:
            RunError: always.
        """
        raise RunError("is a GaussianVAE; the explorer shows models with discrete states")


KIND: Final = GaussianKind()
