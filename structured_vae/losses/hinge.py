"""The structured hinge loss, whose argmax is of scores that the distance to the target augments."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from models import Potentials
from models.arguments import positive_number
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..errors import ConfigError
from ..spaces import Structure
from .distances import distance_slope, distance_weights
from .structured_loss import StructuredLoss


class StructuredHinge(StructuredLoss):
    """The structured hinge loss max_z [h(z) + margin D(z, y)] - h(y), with margin rescaling.

    D(z, y) = sum_i weights[i] [z_i != y_i] is the weighted Hamming distance.

    Gradient: s(z') - s(y) for the argmax z' of the loss-augmented scores, exact if z' is unique,
    otherwise a subgradient. The loss is convex in the scores. It is an upper bound on
    margin D(z*, y), where z* is the argmax of the scores themselves. Since D is a sum over
    variables, loss augmentation only shifts the unary scores, and any solver applies. Costs one
    argmax.

    Args:
        solver: as for every `StructuredLoss`.
        margin: weight of the distance, positive.
        weights: `[n]`, or a shape that broadcasts to `[batch, n]`, finite and not negative; None
            for the Hamming distance.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: the margin or a weight is out of range.

    References:
        Taskar, Guestrin, Koller (2004), Max-margin Markov networks.
        Tsochantaridis, Joachims, Hofmann, Altun (2005), Large margin methods for structured and
        interdependent output variables, margin rescaling.

    Example:
        >>> unary = torch.tensor([[1.5, -0.5]], requires_grad=True)
        >>> StructuredHinge()(unary, target=torch.tensor([[1.0, 1.0]]))
        tensor([1.5000], grad_fn=<AddBackward0>)
    """

    shown = ("margin", "weights")
    weights: torch.Tensor | None

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        margin: float = 1.0,
        weights: torch.Tensor | None = None,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, constraints=constraints)
        self.margin = positive_number(margin, "margin", ConfigError)
        self.register_buffer("weights", distance_weights(weights))

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        slope = self.margin * distance_slope(y, self.weights)
        z = self.maximise(potentials.shifted(slope))
        return potentials.score_difference(z, y) + (slope * (z - y)).sum(dim=-1)
