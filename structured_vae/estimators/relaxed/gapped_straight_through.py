"""The straight-through estimator without noise: scores moved until the sample is best by a gap."""

from __future__ import annotations

from typing import ClassVar

import torch

from models.arguments import number

from ...errors import EstimatorError
from ...schedules import Schedule
from ...spaces import space_of
from .gumbel_softmax import Draw, HardRelaxation, relaxed_at


class GappedStraightThrough(HardRelaxation):
    """The gapped straight-through estimator, the gradient of scores moved to fit the sample.

    Straight-through relaxes the noisy scores. Here the scores are moved instead, by constants: the
    score of the sample z is raised to the largest, and the other scores are lowered to at least
    `gap` below it. Then

        grad softmax(moved scores / temperature) . grad cost(z).

    The score of a bit becomes at least `gap` where z is one, and at most -gap where z is zero. It
    is biased at every temperature. Given z the gradient is not random, so its variance is that of z
    alone. For independent bits and categories.

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number.
        samples: number of samples per image.
        gap: the least margin of the sample, in units of scores.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1, or `gap` is negative or
            infinite.

    References:
        Fan, Chi, Rudnicky, Ramadge (2022), Training discrete deep generative models via gapped
        straight-through estimator.
    """

    relaxation: ClassVar[str] = "the gapped straight-through estimator"

    def __init__(
        self, temperature: Schedule | float | None = None, samples: int = 1, gap: float = 1.0
    ):
        super().__init__(temperature, samples)
        at_least = "a finite number of at least 0"
        self.gap = number(gap, "gap", EstimatorError, at_least, lambda margin: margin >= 0)

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return the relaxed state of the moved scores."""
        unary = draw.potentials.unary.detach()
        moved = space_of(draw.potentials).gapped(unary, draw.hard, self.gap)
        return relaxed_at(draw.potentials, moved, draw.temperature)
