"""Direct optimization through the argmax."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from models import Potentials
from solvers import ArgmaxSolver

from .costs import Cost
from .noise import gumbel_differences
from .sampling import argmax
from .schedules import ExponentialDecay, Schedule


@dataclass(frozen=True, eq=False)
class Estimate:
    """One draw of a gradient estimator.

    `(cost + surrogate).mean().backward()` trains decoder and encoder.

    Attributes:
        surrogate: `[batch]`; its gradient estimates that of the expected cost in the potentials.
        cost: `[batch]`, nats, the cost at z, differentiable in the decoder.
        z: `[batch, n]`, the sample.
        changed: share of the batch whose estimate is not zero.
    """

    surrogate: torch.Tensor
    cost: torch.Tensor
    z: torch.Tensor
    changed: torch.Tensor


@dataclass(frozen=True)
class Direct:
    """Biased: the difference of two argmaxes; O(epsilon) for independent encoders.

    With noise gamma, z* = argmax{h + gamma} and z(epsilon) = argmax{h + gamma - epsilon cost~},
    grad E[cost(z*)] ~ E[grad h(z*) - grad h(z(epsilon))] / epsilon; the sign is that of a cost which is
    minimised. cost~ is the coordinate-wise approximation of the cost at z*, sum_i cost(z*_1, ..., z_i,
    ..., z*_n), whose argmax needs no more than the solver of h: it only shifts the unary scores. Without
    pairwise scores a small epsilon flips at most one variable, of which cost~ is exact, and the bias
    vanishes with epsilon. With them one flip can bring others along, whose joint cost cost~ misses: some
    bias stays.

    Attributes:
        solver: name or object of `solvers`.
        epsilon: schedule of epsilon.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, theorem 1 and section 3.1.
    """

    solver: str | ArgmaxSolver = "auto"
    epsilon: Schedule = field(default_factory=ExponentialDecay)

    def __call__(
        self, potentials: Potentials, cost: Cost, generator: torch.Generator, step: int = 0
    ) -> Estimate:
        """One draw for each image.

        Args:
            potentials: the posterior's scores h.
            cost: bound to the images.
            generator: of the noise.
            step: asked of the schedule.

        Raises:
            solvers.SolverError: the solver cannot take these potentials.
        """
        epsilon = self.epsilon(step)
        perturbed = potentials.detach().shifted(gumbel_differences(potentials.unary, generator))
        z = argmax(perturbed, self.solver)
        z_epsilon = argmax(perturbed.shifted(-epsilon * cost.flips(z).slope), self.solver)
        surrogate = potentials.score_difference(z, z_epsilon) / epsilon
        return Estimate(surrogate, cost(z), z, (z != z_epsilon).any(dim=-1).float().mean())
