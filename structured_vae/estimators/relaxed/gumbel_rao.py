"""The straight-through estimator averaged over the noise that gives the same sample."""

from __future__ import annotations

from typing import ClassVar

import torch

from models.arguments import whole_number

from ...errors import EstimatorError
from ...schedules import Schedule
from ...spaces import space_of
from .gumbel_softmax import Draw, HardRelaxation, relaxed_at


def averaged_over_noise(draw: Draw, scores: torch.Tensor, inner: int) -> torch.Tensor:
    """Return the mean relaxed state `[samples, batch, n]` over noise whose argmax is the sample.

    Args:
        draw: the samples, which are the argmax of the noisy scores.
        scores: `[..., batch, n]`, to which the noise is added.
        inner: number of draws of the noise.
    """
    space = space_of(draw.potentials)
    base = scores.detach()
    noise = space.noise(base.expand(inner, *draw.hard.shape), draw.generator)
    noisy = space.noise_given(base, draw.hard, noise)
    return relaxed_at(draw.potentials, noisy, draw.temperature).mean(dim=0)


class GumbelRao(HardRelaxation):
    """The Gumbel-Rao estimator: the mean of straight-through, and less variance.

    The gradient of straight-through depends on the noise that gave the sample z. Here it is
    averaged over `inner` draws of the noise from its distribution given z:

        1 / inner sum_k grad softmax((h + gamma_k) / temperature) . grad cost(z), where z = argmax(h
        + gamma_k).

    It has the same bias as `StraightThrough` at the same temperature, for any `inner`. Its variance
    is at most that of straight-through, and falls to that of the conditional mean as `inner` grows.
    For independent bits and categories.

    A sample costs one decode and its backward pass, and no argmax. The inner draws cost no decode.

    Args:
        temperature: a schedule, or a number.
        samples: number of noise draws per image.
        inner: number of draws of the noise given each sample.

    Raises:
        EstimatorError: `samples` or `inner` is not a whole number of at least 1.

    References:
        Paulus, Maddison, Krause (2021), Rao-Blackwellizing the straight-through Gumbel-softmax
        gradient estimator.
    """

    relaxation: ClassVar[str] = "the Gumbel-Rao relaxation"

    def __init__(
        self, temperature: Schedule | float | None = None, samples: int = 1, inner: int = 10
    ):
        super().__init__(temperature, samples)
        inner = whole_number(inner, "inner", EstimatorError)
        self.inner = inner

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return the mean relaxed state given the sample."""
        return averaged_over_noise(draw, draw.potentials.unary, self.inner)
