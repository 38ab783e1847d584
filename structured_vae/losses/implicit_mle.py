"""Any differentiable loss of the argmax, with the gradient of implicit MLE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self, TypeAlias

import torch

from models import Potentials
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..distributions.argmax_module import Seed
from ..errors import ConfigError, shortened
from ..estimators import Epsilon
from ..layer import ArgmaxLayer
from ..spaces import Structure
from .distances import squared_differences
from .structured_loss import StructuredLoss

LossOfStates: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Function of states and targets `[..., batch, n]` -> `[..., batch]`, differentiable in states."""


class ImplicitMLELoss(StructuredLoss):
    """A loss(z*, y) of the argmax z*, differentiable in z, with the gradient of implicit MLE.

    Gradient: [s(z*) - s(z')] / epsilon, where z' is the argmax of the scores with
    `unary - epsilon * d loss / d z*`. It is biased: as epsilon goes to 0 it converges to the
    gradient of the linearised loss, which differs from the loss if the derivative in a bit is not
    the change of the loss when that bit flips. The derivative of the default loss is twice that
    change, so for independent bits the gradient is twice that of the expected loss. The loss is not
    convex. Costs two argmaxes for each draw of noise.

    It is an `ArgmaxLayer` followed by the loss, and has its noise: in training mode z* is a
    perturb-and-MAP sample. With `samples` above 1 it is the mean of so many samples, so the loss
    gets entries from 0 to 1. For the Hamming distance, which is linear in z, it equals
    `DirectLoss`.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`; lambda in the paper.
        loss: a function of states and targets; None for the sum of squared differences.
        seed: the seed of the noise, as in `ArgmaxLayer`.
        constraints: as for every `StructuredLoss`.
        samples: the number of noise draws that a call with noise averages, as in `ArgmaxLayer`.

    Raises:
        ConfigError: epsilon is not positive, the seed is not valid, `samples` is not a whole number
            of at least 1, or `loss` is not a function.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE: backpropagating through discrete
        exponential family distributions.
    """

    shown = ("layer", "loss")

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        loss: LossOfStates | None = None,
        seed: Seed = "torch",
        constraints: Iterable[Constraint] = (),
        samples: int = 1,
    ):
        super().__init__(solver, constraints=constraints)
        self.layer = ArgmaxLayer(self.solver, epsilon=epsilon, seed=seed, samples=samples)
        if loss is not None and not callable(loss):
            raise ConfigError(
                f"loss must be a function of states and targets; got {shortened(loss)}"
            )
        self.loss = loss or squared_differences

    def over(self, structure: Structure) -> Self:
        """Return this loss over another structure, as `ArgmaxLayer.over` does."""
        copy = super().over(structure)
        copy.layer = self.layer.over(structure)
        return copy

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        loss = self.loss(self.layer.averaged(potentials, generator), y)
        if not isinstance(loss, torch.Tensor):
            raise ConfigError(
                f"loss must return a tensor, one number per instance; it returned {shortened(loss)}"
            )
        return loss
