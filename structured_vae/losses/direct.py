"""Direct loss minimisation: the distance of the argmax to the target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch

from models import Potentials
from models.arguments import one_of
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..errors import ConfigError
from ..estimators import Epsilon
from ..layer.second_argmax import SteppingModule
from ..spaces import Structure
from .distances import distance_slope, distance_weights
from .structured_loss import StructuredLoss, sampled

Side = Literal["better", "worse"]


class DirectLoss(SteppingModule, StructuredLoss):
    """The task loss D(z*, y) of the argmax z*, with the gradient of direct loss minimisation.

    D(z, y) = sum_i weights[i] [z_i != y_i] is the weighted Hamming distance. It is piecewise
    constant in the scores, so it is not convex and its exact gradient is zero almost everywhere.

    Gradient: [s(z*) - s(z(epsilon))] / epsilon for the side "better", or
    [s(z(-epsilon)) - s(z*)] / epsilon for "worse", where z(epsilon) is the argmax of h - epsilon D.
    It estimates the gradient of E[D(z*, y)] with a bias of O(epsilon), if the expectation over
    data or noise is smooth. Costs two argmaxes.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`.
        side: "better" moves the scores from z* towards a state with less loss; "worse" moves them
            away from a state with more loss.
        weights: as for `StructuredHinge`.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: epsilon is not positive, `side` has another value, or a weight is out of range.

    References:
        McAllester, Hazan, Keshet (2010), Direct loss minimization for structured prediction,
        theorem 1.
    """

    shown = ("epsilon", "side", "weights")
    weights: torch.Tensor | None

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        side: Side = "better",
        weights: torch.Tensor | None = None,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, epsilon, constraints=constraints)
        self.side = one_of(side, "side", ConfigError, ("better", "worse"))
        self.sign = 1
        if side == "better":
            self.sign = -1
        self.register_buffer("weights", distance_weights(weights))

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        perturbed = self.perturbed(potentials, generator)
        z = self.maximise(perturbed)
        slope = distance_slope(y, self.weights)
        moved, epsilon = self.second(perturbed, z, slope, self.sign)
        difference = sampled(potentials, "DirectLoss").score_difference(moved, z)
        if epsilon.ndim == z.ndim:  # each instance has its own
            epsilon = epsilon[..., 0]
        surrogate = self.sign * difference / epsilon
        # The value is D(z*, y), the gradient that of the surrogate.
        return (slope * (z - y)).sum(dim=-1) + surrogate - surrogate.detach()
