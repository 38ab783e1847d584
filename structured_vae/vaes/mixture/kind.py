"""The kind `mixture`: a class with a continuous style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch

from models import MixtureVAE

from ...data import ImageDataset
from ...errors import ConfigError
from ...estimators import Estimator
from ...evaluation.quantities import Evaluation
from ...training.base import Training
from ...training.labelled import balanced_labels
from ..fitting import (
    fitting_estimator,
    fitting_solver,
    label_loss_of,
    require_whole_bound,
    seeded_estimator,
)
from ..kind import Kind, Question
from ..options import training_options
from ..shown import Shown
from .config import MixtureConfig
from .evaluation import evaluate_mixture
from .page import ShownMixture
from .training import MixtureTraining

SAMPLES: Final = 10
"""The number of samples of the style per image; each decodes every class."""


class MixtureKind(Kind[MixtureConfig, MixtureVAE]):
    """One of k classes, with a style."""

    vae = MixtureVAE
    why_unweighted = ""

    def networks(self, config: MixtureConfig, pixels: int) -> MixtureVAE:
        """Return the paper's networks with fresh weights."""
        return MixtureVAE(pixels, config.k, styles=config.styles)

    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the length of the decoder's last bias."""
        return weights["decoder.last.bias"].numel()

    def training(
        self, config: MixtureConfig, vae: MixtureVAE, estimator: Estimator | None
    ) -> Training:
        """Return the semi-supervised training."""
        solver = fitting_solver(config.backend, vae)
        estimator = seeded_estimator(config, vae, solver, estimator)
        require_whole_bound(config, estimator)
        return MixtureTraining(
            vae,
            estimator,
            training_options(config),
            label_loss=label_loss_of(config, solver),
            label_weight=config.label_weight,
        )

    def labelled(self, config: MixtureConfig, dataset: ImageDataset) -> torch.Tensor | None:
        """Return the indices of equally many images of each class, drawn with the seed.

        Raises:
            ConfigError: a class is unknown, or so many images cannot be drawn.
        """
        if not config.labels:
            return None
        for name, split in (("validation", dataset.validation), ("test", dataset.test)):
            if (most := split.labels.max()) >= config.k:
                raise ConfigError(
                    f"a {name} image has the class {most}, and the model has 0 to {config.k - 1}"
                )
        return balanced_labels(dataset.train.labels, config.k, config.labels, config.seed)

    def evaluate(self, question: Question[MixtureConfig, MixtureVAE]) -> Evaluation:
        """Return the bound with its parts, and how often classes are right."""
        return evaluate_mixture(
            question.vae,
            question.batches,
            question.noise,
            question.samples_or(SAMPLES),
            supervised=question.config.labels > 0,
            importance=question.importance,
        )

    def argmaxes(self, config: MixtureConfig, vae: MixtureVAE) -> int:
        """Return how many argmaxes the estimator solves."""
        return fitting_estimator(config, vae, fitting_solver(config.backend, vae)).argmaxes

    def shown(self, vae: MixtureVAE) -> Shown:
        """Return classes and styles as the explorer shows them."""
        return ShownMixture(vae)


KIND: Final = MixtureKind()
