"""The kind `attributes`: attributes of faces with a continuous code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch

from models import AttributeVAE
from models.vaes.attributes import PIXELS

from ...data import ATTRIBUTES, ImageDataset
from ...errors import ConfigError
from ...estimators import Estimator
from ...evaluation.quantities import Evaluation
from ...training.base import Training
from ...training.labelled import drawn_labels
from ..fitting import (
    fitting_estimator,
    fitting_solver,
    label_loss_of,
    require_whole_bound,
    seeded_estimator,
)
from ..kind import Kind, Question, refuse_refinement
from ..options import training_options
from ..shown import Shown
from .config import AttributesConfig
from .evaluation import evaluate_attributes
from .judged_faces import judged_faces
from .page import ShownAttributes
from .training import AttributeTraining

SAMPLES: Final = 10
"""The number of samples of attributes and code per image; each costs one decode."""


class AttributeKind(Kind[AttributesConfig, AttributeVAE]):
    """The attributes of CelebA, with a code for the person."""

    vae = AttributeVAE
    why_unweighted = ""

    def networks(self, config: AttributesConfig, pixels: int) -> AttributeVAE:
        """Return convolutional networks with fresh weights; the size of their images is fixed."""
        return AttributeVAE(
            config.encoder,
            n=len(ATTRIBUTES),
            channels=config.channels,
            **config.options_of_encoder,
        )

    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the size of the images, which is fixed."""
        return PIXELS

    def training(
        self, config: AttributesConfig, vae: AttributeVAE, estimator: Estimator | None
    ) -> Training:
        """Return the semi-supervised training."""
        solver = fitting_solver(config.solver, vae)
        estimator = seeded_estimator(config, vae, solver, estimator)
        require_whole_bound(config, estimator)
        return AttributeTraining(
            vae,
            estimator,
            training_options(config),
            label_loss=label_loss_of(config, solver),
            label_weight=config.label_weight,
            consistency=config.consistency,
            solver=solver,
        )

    def labelled(self, config: AttributesConfig, dataset: ImageDataset) -> torch.Tensor | None:
        """Return the indices of images drawn with the seed; attributes are not balanced."""
        if not config.labels:
            return None
        return drawn_labels(len(dataset.train.labels), config.labels, config.seed)

    def evaluate(self, question: Question[AttributesConfig, AttributeVAE]) -> Evaluation:
        """Return the bound with its parts, and how often each attribute is right."""
        config = question.config
        evaluation = evaluate_attributes(
            question.vae,
            question.batches,
            question.dataset.attributes,
            question.noise,
            fitting_solver(config.solver, question.vae),
            question.samples_or(SAMPLES),
            config.labels > 0,
            question.importance,
        )
        if not question.appearance:
            return evaluation
        judged = judged_faces(question.vae, question.dataset, question.split, config.seed)
        return evaluation.joined(judged)

    def check_evaluation(self, config: AttributesConfig, refine: int, appearance: bool) -> None:
        """Raise if a search per image is requested, or judged faces without labels."""
        refuse_refinement(config, refine)
        if appearance and not config.labels:
            raise ConfigError(
                "appearance needs the model attributes with labels; this run has the model "
                f"{config.model} with {config.labels} labels"
            )

    def argmaxes(self, config: AttributesConfig, vae: AttributeVAE) -> int:
        """Return how many argmaxes the estimator solves."""
        return fitting_estimator(config, vae, fitting_solver(config.solver, vae)).argmaxes

    def shown(self, vae: AttributeVAE) -> Shown:
        """Return attributes and codes as the explorer shows them."""
        return ShownAttributes(vae)


KIND: Final = AttributeKind()
