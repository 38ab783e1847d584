"""The base class of semi-supervised training: the bound, and a loss of labelled images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch

from models import AttributeVAE, MixtureVAE
from models.potentials import AnyPotentials

from ..estimators import Estimator
from ..objectives.costs import Reconstruction
from ..objectives.label_losses import LabelLoss
from ..objectives.recipes import whole_bound
from .base import Training, TrainingOptions


class SemiSupervisedTraining(Training):
    """The training on the bound of all images plus a loss of the labels of a few of them.

    In every step, with x from all images and (x', y) from the labelled ones,

        E_q[-log p(x | z_d, z_c)] + KL(q(z_d | x) || uniform) + KL(q(z_c | x) || N(0, 1)) + weight *
        loss(x', y)

    is minimised, for some models together with the bound of the labelled images with z_d = y. The
    estimator gives the gradient in the scores of z_d; the gradient in z_c goes through the sample.

    Args:
        vae: the model to train.
        estimator: the estimator of the gradient in the scores of z_d.
        options: learning rate, seed and dropout.
        label_loss: the loss of the labelled images; None where there are none.
        label_weight: weight of that loss.
    """

    vae: MixtureVAE | AttributeVAE

    def __init__(
        self,
        vae: MixtureVAE | AttributeVAE,
        estimator: Estimator,
        options: TrainingOptions,
        *,
        label_loss: LabelLoss | None,
        label_weight: float,
    ):
        super().__init__(options)
        self.estimator = estimator
        self.vae = vae
        self.label_loss = label_loss
        self.label_weight = label_weight

    @abstractmethod
    def _labelled(
        self, x: torch.Tensor, labels: torch.Tensor
    ) -> tuple[AnyPotentials, torch.Tensor | float]:
        """Return the scores of labelled images, and the bound `[batch]` to train on, or 0."""

    @abstractmethod
    def _accuracy(self, scores: AnyPotentials, labels: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that the scores of labelled images predict correctly."""

    @property
    def monitored(self) -> str:
        """The objective on validation images with all labels; without labels, their bound."""
        if self.label_loss is None:
            return "validation/bound"
        return "validation/objective"

    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        potentials, code = self.vae.encoder(self._seen(x))
        decoder, kl = self.vae.given(code, self._noise)
        q = self.estimator.posterior(potentials)
        objective = whole_bound(Reconstruction(decoder, x), q, self.estimator.kl)
        estimate = self.estimator(q, objective.cost, self._noise, self.global_step)
        loss = (estimate.surrogate + objective.kl + kl).mean() + estimate.tuning
        stats = {"cost": estimate.cost.mean(), **estimate.stats}
        if self.label_loss is None:
            return loss, stats
        images, labels = labelled
        scores, bound = self._labelled(images, labels)
        label_loss = self.label_loss(scores, labels, self._noise, self.global_step)
        stats["label_accuracy"] = self._accuracy(scores.detach(), labels)
        return loss + (self.label_weight * label_loss + bound).mean(), stats

    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        columns = {}
        for name in batches[0]:
            columns[name] = torch.cat([batch[name] for batch in batches]).double()
        means = {name: column.mean().item() for name, column in columns.items()}
        bounds = columns["bound"]
        means["standard_error"] = bounds.std(correction=0).item() / len(bounds) ** 0.5
        if "accuracy" in means:
            means["objective"] = means["bound"] + self.label_weight * (1 - means["accuracy"])
        return means
