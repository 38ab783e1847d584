"""The semi-supervised training of an attribute VAE, for Lightning."""

from __future__ import annotations

from itertools import product
from typing import Final

import torch

from models import AttributeVAE
from models.potentials import AnyPotentials

from ...data import ATTRIBUTES, TYPICAL
from ...distributions.argmax import AnySolver, argmax
from ...estimators import Estimator
from ...objectives.consistency import consistency_loss
from ...objectives.label_losses import LabelLoss, state_of
from ...training.base import TrainingOptions
from ...training.semi_supervised import SemiSupervisedTraining
from .evaluation import attribute_columns

SWITCHED: Final = ("Eyeglasses", "Smiling", "Male")
"""The attributes that the paper's figure switches."""

PERSONS: Final = 10
"""The number of rows in that figure."""


def combinations(like: torch.Tensor) -> torch.Tensor:
    """Return every combination of the switched attributes `[8, n]`, the others as in most faces.

    Args:
        like: a tensor of the type and device that the result gets.

    Example:
        >>> states = combinations(torch.zeros(1))
        >>> [dict(zip(ATTRIBUTES, state))["Male"] for state in states.tolist()]
        [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    states = torch.tensor(TYPICAL).repeat(2 ** len(SWITCHED), 1)
    for state, values in zip(states, product((0, 1), repeat=len(SWITCHED)), strict=True):
        for name, value in zip(SWITCHED, values, strict=True):
            state[ATTRIBUTES.index(name)] = value
    return states.to(like)


def switched(
    vae: AttributeVAE, generator: torch.Generator, persons: int = PERSONS
) -> tuple[torch.Tensor, int]:
    """Return images of persons under every combination of three attributes, and 8, the row length.

    The images are `[persons * 8, pixels]`, and the persons are drawn from the prior. The order is
    glasses off and on; within each, smile off and on; within each, woman and man.

    Args:
        vae: a VAE of the eight attributes of CelebA.
        generator: draws the persons.
        persons: the number of rows.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max, the figure of
        CelebA.
    """
    drawn = vae.persons(persons, generator)
    states = combinations(drawn)
    return vae.decoded(drawn, states), len(states)


class AttributeTraining(SemiSupervisedTraining):
    """The training of attributes z_d and a code z_c, whose prior given z_d is part of the cost.

    It also trains the bound of labelled images with z_d = y. So the decoder sees the right
    attributes from the first step, and not only the encoder's first guesses. The consistency loss
    makes the encoder recognise the attributes of decoded persons; it trains only the decoder.

    Args:
        vae: the model to train.
        estimator: estimates the gradient in the scores of the attributes.
        options: learning rate, seed and dropout.
        label_loss: the loss of the labelled images; None if there are none.
        label_weight: the weight of that loss.
        consistency: the weight of the same loss of decoded images.
        solver: computes the most probable attributes.

    References:
        Kingma, Rezende, Mohamed, Welling (2014), Semi-supervised learning with deep generative
        models, equation 6: the bound of labelled images.
    """

    vae: AttributeVAE

    def __init__(
        self,
        vae: AttributeVAE,
        estimator: Estimator,
        options: TrainingOptions,
        *,
        label_loss: LabelLoss | None,
        label_weight: float,
        consistency: float,
        solver: AnySolver = "auto",
    ):
        super().__init__(vae, estimator, options, label_loss=label_loss, label_weight=label_weight)
        self.consistency = consistency
        self.solver = solver

    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        loss, stats = super()._loss(x, *labelled)
        if self.label_loss is None or self.consistency == 0:
            return loss, stats
        inconsistency = consistency_loss(
            self.vae,
            labels=labelled[1],
            label_loss=self.label_loss,
            seen=self._seen,
            generator=self._noise,
            step=self.global_step,
        ).mean()
        stats = {**stats, "consistency": inconsistency.detach()}
        return loss + self.consistency * inconsistency, stats

    def _labelled(
        self, x: torch.Tensor, labels: torch.Tensor
    ) -> tuple[AnyPotentials, torch.Tensor | float]:
        scores, code = self.vae.encoder(self._seen(x))
        cost = self.vae.decoder.cost(x, state_of(scores, labels), code.sample(self._noise))
        return scores, cost + code.kl()

    def _accuracy(self, scores: AnyPotentials, labels: torch.Tensor) -> torch.Tensor:
        return (argmax(scores, self.solver) == state_of(scores, labels)).float().mean()

    def _columns(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        columns = attribute_columns(
            self.vae, x, labels, ATTRIBUTES, self._noise_of_evaluation, self.solver
        )
        unknown = self.label_loss is None
        return {
            name: column
            for name, column in columns.items()
            if name != "minus_log_p" and not (unknown and name.startswith("accuracy"))
        }

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return each image decoded from its most probable attributes and a drawn code.

        The result is `[count, pixels]`.
        """
        potentials, code = self.vae.encoder(x)
        return self.vae.decoder(argmax(potentials, self.solver), code.sample(noise))

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return images of ten persons of the prior, and 8, the row length.

        A row holds a person under every combination of three attributes.
        """
        return switched(self.vae, noise)
