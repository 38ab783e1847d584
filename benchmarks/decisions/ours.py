"""The losses of this package, on any task of decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    GibbsLikelihood,
    PerturbedFenchelYoung,
    StructuredHinge,
)

from .task import SAMPLES, Batch, Loss, Training


def least_squares(_: Training) -> Loss:
    """Return the squared error of the predicted costs, which ignores the decision."""
    return lambda batch: (batch.scores - batch.values).square().mean()


def spo_plus(training: Training) -> Loss:
    """Return max_z (2 s - v).z - 2 s.y + v.y for scores s, values v and the best decision y.

    References:
        Elmachtoub, Grigas (2022), Smart "predict, then optimize".
    """
    space = training.data.space

    def loss(batch: Batch) -> torch.Tensor:
        shifted = 2 * batch.scores - batch.values
        z = space.argmax(shifted.detach())
        regrets = shifted * z - 2 * batch.scores * batch.best + batch.values * batch.best
        return regrets.sum(dim=1).mean()

    return loss


def of_target(make: Callable[[Any], Any]) -> Callable[[Training], Loss]:
    """Return the factory of a structured loss whose target is the best decision."""

    def factory(training: Training) -> Loss:
        loss = make(training.data.space)
        return lambda batch: loss(batch.scores, target=batch.best, generator=batch.noise).mean()

    return factory


def black_box(noisy: bool) -> Callable[[Training], Loss]:
    """Return direct optimization of the true cost of the decision, as a black box."""

    def factory(training: Training) -> Loss:
        layer = ArgmaxLayer(training.data.space, seed=None)

        def loss(batch: Batch) -> torch.Tensor:
            def cost(z: torch.Tensor) -> torch.Tensor:
                return -(z * batch.values).sum(dim=-1)

            noise = batch.noise if noisy else None
            estimate = layer(batch.scores, cost=cost, generator=noise)
            return estimate.surrogate.mean()

        return loss

    return factory


def implicit_mle(noisy: bool, samples: int = 1) -> Callable[[Training], Loss]:
    """Return the true cost of the decision behind the layer, or of the mean of noisy decisions."""

    def factory(training: Training) -> Loss:
        layer = ArgmaxLayer(training.data.space, seed=None, samples=samples)

        def loss(batch: Batch) -> torch.Tensor:
            noise = batch.noise if noisy else None
            z = layer(batch.scores, generator=noise)
            return -(z * batch.values).sum(dim=1).mean()

        return loss

    return factory


def expected_cost(training: Training) -> Loss:
    """Return the exact expected cost of a decision drawn from the Gibbs distribution."""
    space = training.data.space

    def loss(batch: Batch) -> torch.Tensor:
        marginals = space.gibbs(batch.scores).marginals
        return -(marginals * batch.values).sum(dim=1).mean()

    return loss


SUMS = ("GibbsLikelihood", "exact expected cost")
"""Methods that need sums over all decisions."""

OURS: dict[str, Callable[[Training], Loss]] = {
    "least squares": least_squares,
    "SPO+ through the structure": spo_plus,
    "PerturbedFenchelYoung": of_target(lambda space: PerturbedFenchelYoung(space, samples=SAMPLES)),
    "StructuredHinge": of_target(StructuredHinge),
    "DirectLoss": of_target(DirectLoss),
    "GibbsLikelihood": of_target(GibbsLikelihood),
    "ArgmaxLayer, cost=": black_box(False),
    "ArgmaxLayer, cost=, noise": black_box(True),
    "ArgmaxLayer, implicit MLE": implicit_mle(False),
    "ArgmaxLayer, implicit MLE, noise": implicit_mle(True),
    f"ArgmaxLayer, implicit MLE, {SAMPLES} draws": implicit_mle(True, SAMPLES),
    "exact expected cost": expected_cost,
}
