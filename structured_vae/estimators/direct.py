"""Direct optimization through the argmax."""

from __future__ import annotations

from typing import Literal

import torch

from models import AnyPotentials, CategoricalPotentials

from ..errors import EstimatorError
from ..noise import Noise, unary_noise
from ..objectives.costs import Cost
from ..posteriors.argmax import AnySolver, argmax
from ..schedules import Schedule
from ..structures import Structure, is_structure
from .epsilon import Epsilon, as_epsilon
from .estimator import Estimate, Estimator, needs_samples

Sides = Literal[1, 2]


class Direct(Estimator):
    """Biased: the difference of two argmaxes; O(epsilon) for independent encoders.

    With noise gamma, z* = argmax{h + gamma} and z(epsilon) = argmax{h + gamma - epsilon cost~},
    grad E[cost(z*)] ~ E[grad h(z*) - grad h(z(epsilon))] / epsilon; the sign is that of a cost which is
    minimised. Two-sided it is E[grad h(z(-epsilon)) - grad h(z(epsilon))] / (2 epsilon), O(epsilon^2).

    cost~ is the coordinate-wise approximation of the cost at z*, sum_i cost(z*_1, ..., z_i, ..., z*_n),
    whose argmax needs no more than the solver of h: it only shifts the unary scores. Without pairwise
    scores a small epsilon flips at most one variable, of which cost~ is exact, and the bias vanishes with
    epsilon. With them one flip can bring others along, whose joint cost cost~ misses: some bias stays.
    For one variable of k categories cost~ is the cost itself, from one table; for several it has the cost of each
    value of each variable, the others as in z*.

    `stats`: "changed", the share of samples whose argmax moves; "saturated", the share whose z(epsilon)
    is already the minimiser of cost~, whatever the scores.

    A sample costs n + 2 decodes, one of them with a gradient, and 2 argmaxes (two-sided 3); with k categories
    one table of k decodes for the batch, with n variables of k categories n (k - 1) + 2 decodes.

    Args:
        solver: name or object of `solvers`, or a `Structure`; of `solvers.labels` for categories with pairwise scores,
            and not used for others.
        epsilon: a schedule, or an `Epsilon`; default: 0.1.
        samples: noise draws an image.
        sides: 1 or 2.
        noise: added to the unary scores; `no_noise` where the argmax of the scores themselves is meant.

    Raises:
        EstimatorError: no samples, or other sides.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, theorem 1 and section 3.1.
    """

    kl = "folded"

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        epsilon: Schedule | Epsilon | None = None,
        samples: int = 1,
        sides: Sides = 1,
        noise: Noise = unary_noise,
    ):
        super().__init__()
        needs_samples(1, samples)
        if sides not in (1, 2):
            raise EstimatorError(f"sides must be 1 or 2; got {sides}")
        self.solver = solver
        self.epsilon = as_epsilon(epsilon)
        self.samples = samples
        self.sides = sides
        self.noise = noise

    @property
    def over(self) -> Structure | None:
        """The structure that stands in the place of a solver."""
        return self.solver if is_structure(self.solver) else None

    @property
    def argmaxes(self) -> int:
        """One for each side and one for z*, for every sample."""
        return self.samples * (1 + self.sides)

    def _estimate(
        self, potentials: AnyPotentials, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        perturbed = potentials.detach().shifted(self.noise(potentials, generator, self.samples))
        z = argmax(perturbed, self.solver)
        around = cost.around(z)
        slope = _changes(potentials, around.slope)
        epsilon = self.epsilon.at(step, slope, perturbed, z)
        shift = epsilon * slope
        low = argmax(perturbed.shifted(-shift), self.solver)
        high = z if self.sides == 1 else argmax(perturbed.shifted(shift), self.solver)
        change = potentials.score_difference(high, low) / (self.sides * epsilon)
        changed = (high != low).any(dim=-1).float().mean()
        self.epsilon.observe(changed)
        return Estimate(
            surrogate=(change + around.cost).mean(dim=0),
            cost=around.cost.detach().mean(dim=0),
            z=z,
            stats={"changed": changed, "saturated": _saturated(potentials, slope, low)},
        )


def _changes(potentials: AnyPotentials, slope: torch.Tensor) -> torch.Tensor:
    """The changes of the cost: for categories without what all values of a variable cost, which no argmax sees."""
    if isinstance(potentials, CategoricalPotentials):
        apart = potentials.apart(slope)
        return (apart - apart.mean(dim=-1, keepdim=True)).flatten(-2)
    return slope


def _saturated(potentials: AnyPotentials, slope: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """The share of `z` that minimises the coordinate-wise cost."""
    if isinstance(potentials, CategoricalPotentials):
        apart = potentials.apart(slope)
        chosen = (apart * potentials.apart(z)).sum(dim=-1)
        cheapest = (chosen == apart.amin(dim=-1)).all(dim=-1)
    else:
        cheapest = (slope * (2 * z - 1) <= 0).all(dim=-1)
    return cheapest.float().mean()
