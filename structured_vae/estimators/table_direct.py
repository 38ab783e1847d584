"""Direct optimization with the cost of every state at hand."""

from __future__ import annotations

from typing import Literal

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs, PerturbAndMAP
from ..errors import EstimatorError
from ..noise import gumbel
from ..objectives.costs import Cost
from ..schedules import Schedule
from ..spaces.of_potentials import unary_noise
from .epsilon import Epsilon, as_epsilon
from .estimator import Estimate, Estimator, needs_samples
from .reasons import too_many_states

Noise = Literal["states", "unary"]


class TableDirect(Estimator):
    """Direct optimization whose two argmaxes run over a table of all states, with the exact cost.

    Biased, O(epsilon) one-sided and O(epsilon^2) two-sided, for every encoder: no coordinate-wise
    approximation. With noise on every state, z* is an exact sample of the Gibbs distribution, which
    is the theorem's own setting; with noise on the unary scores it is perturb-and-MAP, as in
    `Direct`.

    For up to 20 bits, and for categories. `stats` as for `Direct`.

    A step costs one table of all states, decoded once for the batch; no argmax needs a solver.

    Args:
        epsilon: a number, a schedule, or an `Epsilon`; default: 0.1.
        samples: noise draws an image.
        sides: 1 or 2.
        noise: "states", one Gumbel variable a state; or "unary".

    Raises:
        EstimatorError: no samples, other sides or other noise.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, theorem 1.
    """

    kl = "folded"

    def __init__(
        self,
        epsilon: Schedule | Epsilon | float | None = None,
        samples: int = 1,
        sides: Literal[1, 2] = 1,
        noise: Noise = "states",
    ):
        super().__init__()
        needs_samples(1, samples)
        if sides not in (1, 2) or noise not in ("states", "unary"):
            raise EstimatorError(
                f"sides must be 1 or 2 and noise states or unary; got {sides}, {noise}"
            )
        self.epsilon = as_epsilon(epsilon)
        self.samples = samples
        self.sides = sides
        self.noise = noise

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return the Gibbs distribution, or with noise on the unary scores perturb-and-MAP."""
        if self.noise == "states":
            return Gibbs(potentials)
        return PerturbAndMAP(potentials)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """More than 20 bits."""
        return too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        states = potentials.states()
        costs = cost.table(states).expand(len(potentials.unary), -1)
        fixed, least = costs.detach(), costs.detach().amin(dim=-1)
        perturbed = self._perturbed(potentials.detach(), states, generator)
        epsilon = self.epsilon(step, fixed - fixed.mean(dim=-1, keepdim=True))
        chosen = perturbed.argmax(dim=-1)
        low = (perturbed - epsilon * fixed).argmax(dim=-1)
        high = chosen if self.sides == 1 else (perturbed + epsilon * fixed).argmax(dim=-1)
        change = potentials.score_difference(states[high], states[low]) / (self.sides * epsilon)
        at_sample = costs.gather(1, chosen.T).T
        changed = (high != low).float().mean()
        self.epsilon.observe(changed)
        return Estimate(
            surrogate=(change + at_sample).mean(dim=0),
            cost=at_sample.detach().mean(dim=0),
            z=states[chosen],
            stats={
                "changed": changed,
                "saturated": (least == fixed.gather(1, low.T).T).float().mean(),
            },
        )

    def _perturbed(
        self, potentials: AnyPotentials, states: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """`[samples, batch, states]`: scores with noise."""
        table = potentials.table(states)
        if self.noise == "states":
            return table + gumbel(table.expand(self.samples, *table.shape), generator)
        return table + unary_noise(potentials, generator, self.samples) @ states.T
