"""The estimators ReinMax, ReinMax-Rao and ReinMax-CV: straight-through of second order."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

import torch

from models.arguments import number, whole_number

from ...errors import EstimatorError
from ...schedules import Schedule
from ...spaces import space_of
from ..options import EstimatorOptions
from .gumbel_rao import averaged_over_noise
from .gumbel_softmax import Draw, HardRelaxation, relaxed, relaxed_at


def midway(draw: Draw, temperature: float) -> torch.Tensor:
    """Return the scores `[samples, batch, n]` of the mean of the sample and its probabilities.

    The probabilities are softmax(h / temperature).
    """
    unary = draw.potentials.unary.detach()
    probabilities = relaxed(draw.potentials, unary, temperature)
    return space_of(draw.potentials).scores_of((draw.hard + probabilities) / 2)


def probabilities_of(draw: Draw) -> torch.Tensor:
    """Return the probabilities softmax(h) `[batch, n]`, differentiable."""
    return relaxed(draw.potentials, draw.potentials.unary, 1.0)


class ReinMax(HardRelaxation):
    """The ReinMax estimator, of second order: exact for costs quadratic in every variable.

    Straight-through takes cost(b) - cost(a) for the gradient at the sample times b - a, which is of
    first order. ReinMax takes the mean of the gradients at a and b (Heun's method). With p =
    softmax(h), p_z = (softmax(h / temperature) + z) / 2 and J(p) = diag(p) - p p' it is

        2 J(p_z) grad cost(z) - 1/2 J(p) grad cost(z).

    At temperature 1 it is unbiased for every cost that is a polynomial of degree 2 in each single
    variable, whatever the other variables. For other costs it is biased, and at other temperatures
    for all costs. For independent bits and categories.

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number; default: 1.
        samples: number of samples per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Liu, Dong, Liu, Yu, Gao (2023), Bridging discrete and backpropagation: straight-through and
        beyond, algorithm 2.
    """

    relaxation: ClassVar[str] = "ReinMax"

    def __init__(self, temperature: Schedule | float | None = None, samples: int = 1):
        if temperature is None:
            temperature = 1.0
        super().__init__(temperature, samples)

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(samples=options.samples)

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return a state whose derivative in the scores is 2 J(p_z) - J(p) / 2."""
        between = relaxed_at(draw.potentials, midway(draw, draw.temperature), 1.0)
        return 2 * between - probabilities_of(draw) / 2


class _ByInnerDraws(HardRelaxation, ABC):
    """The base of forms of ReinMax that average over noise given the sample.

    Args:
        temperature: a schedule, or a number.
        samples: number of samples per image.
        inner: number of draws of the noise given each sample.

    Raises:
        EstimatorError: `samples` or `inner` is not a whole number of at least 1.
    """

    relaxation: ClassVar[str] = "ReinMax"

    def __init__(
        self, temperature: Schedule | float | None = None, samples: int = 1, inner: int = 10
    ):
        super().__init__(temperature, samples)
        inner = whole_number(inner, "inner", EstimatorError)
        self.inner = inner


class ReinMaxRao(_ByInnerDraws):
    """The ReinMax-Rao estimator, `ReinMax` with Gumbel-Rao at its midpoint: biased, less variance.

    With h_z = log((softmax(h) + z) / 2), for bits the log-odds, J(p_z) of `ReinMax` is replaced by
    the mean of J(softmax((h_z + gamma) / temperature)) / temperature over noise gamma for which z =
    argmax(h_z + gamma):

        2 E[J(softmax((h_z + gamma) / temperature)) | z] / temperature grad cost(z) - 1/2 J(p) grad
        cost(z).

    The mean is taken over `inner` draws. It is biased for quadratic costs too, and for linear ones,
    where `ReinMax` is unbiased. For independent bits and categories.

    A sample costs one decode and its backward pass, and no argmax. The inner draws cost no decode.

    Args:
        temperature: a schedule, or a number.
        samples: number of samples per image.
        inner: number of draws of the noise given each sample.

    Raises:
        EstimatorError: `samples` or `inner` is not a whole number of at least 1.

    References:
        Wang, Bui (2026), Beyond ReinMax: low-variance gradient estimators for discrete latent
        variables.
    """

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return a state whose derivative in the scores is that of the formula."""
        averaged = averaged_over_noise(draw, midway(draw, 1.0), self.inner)
        return 2 * averaged - probabilities_of(draw) / 2


class ReinMaxCV(_ByInnerDraws):
    """The ReinMax-CV estimator: `ReinMax` with a relaxed sample at its midpoint as control: biased.

    With h_z = log((softmax(h) + z) / 2), for bits the log-odds, and the noise gamma that drew z =
    argmax(h + gamma), it adds to `ReinMax` of temperature 1

        eta (E[J(softmax((h_z + gamma') / temperature)) | z = argmax(h_z + gamma')] - J(softmax((h_z
        + gamma) / temperature))) / temperature grad cost(z).

    The mean is taken over `inner` draws. Given z, gamma and gamma' have different distributions, so
    the control has a mean, and the estimator a bias also for quadratic costs. It is the bias of
    `ReinMax` at eta = 0. (With gamma' in both places the control would have the mean 0, but could
    only add variance, since `ReinMax` is a function of z.) For independent bits and categories.

    A sample costs one decode and its backward pass, and no argmax. The inner draws cost no decode.

    Args:
        temperature: a schedule, or a number: that of the control.
        samples: number of samples per image.
        inner: number of draws of the noise given each sample.
        eta: weight of the control.

    Raises:
        EstimatorError: `samples` or `inner` is not a whole number of at least 1, or `eta` is not
            finite.

    References:
        Wang, Bui (2026), Beyond ReinMax: low-variance gradient estimators for discrete latent
        variables.
    """

    def __init__(
        self,
        temperature: Schedule | float | None = None,
        samples: int = 1,
        inner: int = 10,
        eta: float = 0.5,
    ):
        super().__init__(temperature, samples, inner)
        self.eta = number(eta, "eta", EstimatorError, "a finite number")

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return a state whose derivative in the scores is that of the formula."""
        between = midway(draw, 1.0)
        at_midpoint = relaxed_at(draw.potentials, between, 1.0)
        noisy = relaxed_at(draw.potentials, between + draw.noise, draw.temperature)
        control = averaged_over_noise(draw, between, self.inner) - noisy
        return 2 * at_midpoint - probabilities_of(draw) / 2 + self.eta * control
