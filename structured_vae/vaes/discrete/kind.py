"""The kind `discrete`: bits or categories alone, with the paper's networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import torch

from models import DiscreteVAE, paper_vae
from models.errors import SettingError
from models.priors import Prior, PriorOptions, States, named_prior

from ...errors import ConfigError
from ...estimators import Estimator
from ...evaluation.quantities import Evaluation
from ...objectives.recipes import RECIPES
from ...schedules import Ramp
from ...training.base import Training
from ..config import RecipeConfig, known
from ..fitting import check_prior, fitting_estimator, fitting_solver, seeded_estimator
from ..kind import Coded, Kind, Question, refuse_appearance
from ..options import training_options
from ..shown import Shown
from .config import DiscreteConfig
from .evaluation import evaluate
from .page import ShownStates
from .spaces import space_of_options
from .training import ArgmaxTraining

SAMPLES: Final = 1000
"""The number of posterior samples per image."""


Config = TypeVar("Config", bound=RecipeConfig)


class StatesKind(Kind[Config, DiscreteVAE]):
    """The kind of VAE whose latent variables are all discrete, with any networks."""

    vae = DiscreteVAE
    compares_gradients = True
    why_unweighted = ""

    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the length of the decoder's last bias."""
        return weights["decoder.last.bias"].numel()

    def training(self, config: Config, vae: DiscreteVAE, estimator: Estimator | None) -> Training:
        """Return the training by gradient estimates."""
        solver = fitting_solver(config.solver, vae)
        estimator = seeded_estimator(config, vae, solver, estimator)
        if vae.prior is not None:
            check_prior(config, estimator, vae.prior)
        return ArgmaxTraining(
            vae,
            estimator,
            training_options(config),
            recipe=RECIPES[known(config.recipe)],
            kl_weight=Ramp(known(config.kl_warmup), known(config.kl_start)),
        )

    def evaluate(self, question: Question[Config, DiscreteVAE]) -> Evaluation:
        """Return the bound of the posterior that the training had, with its parts."""
        config = question.config
        solver = fitting_solver(config.solver, question.vae)
        estimator = fitting_estimator(config, question.vae, solver, question.estimator)
        return evaluate(
            question.vae,
            question.batches,
            estimator.posterior,
            question.noise,
            question.samples_or(SAMPLES),
            question.refine,
            question.importance,
        )

    def check_evaluation(self, config: Config, refine: int, appearance: bool) -> None:
        """Raise if decoded images are to be judged; a bound can be refined."""
        refuse_appearance(config, appearance)

    def argmaxes(self, config: Config, vae: DiscreteVAE) -> int:
        """Return how many argmaxes the estimator solves."""
        return fitting_estimator(config, vae, fitting_solver(config.solver, vae)).argmaxes

    def coded(self, config: Config, vae: DiscreteVAE) -> Coded[DiscreteVAE]:
        """Return the codes that the estimator's posterior draws, to fit another prior."""
        estimator = fitting_estimator(config, vae, fitting_solver(config.solver, vae))

        def codes(x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
            return estimator.posterior(vae.encoder(x)).sample(noise)[0]

        def with_prior(prior: Prior) -> DiscreteVAE:
            try:
                return DiscreteVAE(vae.encoder, vae.decoder, prior=prior, space=vae.space)
            except SettingError as error:
                raise ConfigError(str(error)) from error

        values = 0
        if vae.categorical:
            values = vae.n // vae.variables

        def fresh(options: PriorOptions) -> Prior | None:
            return named_prior(options, States(vae.variables, values))

        return Coded(fresh, codes, with_prior)

    def shown(self, vae: DiscreteVAE) -> Shown:
        """Return the states as the explorer shows them."""
        return ShownStates(vae)


class DiscreteKind(StatesKind[DiscreteConfig]):
    """Bits, or variables of k categories, with the paper's networks."""

    def networks(self, config: DiscreteConfig, pixels: int) -> DiscreteVAE:
        """Return the paper's networks with fresh weights."""
        sizes = {"n": config.n}
        if config.encoder == "categorical":
            sizes = {"k": config.k}
        return paper_vae(
            config.encoder,
            pixels=pixels,
            **sizes,
            hidden=config.hidden,
            prior=PriorOptions(config.prior, config.prior_hidden, config.prior_layers),
            bandwidth=config.bandwidth,
            variables=config.variables,
            couplings=config.couplings,
            **config.options_of_encoder,
            space=space_of_options(config.space, config.n, config.options_of_space),
        )


KIND: Final = DiscreteKind()
