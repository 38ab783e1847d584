"""The estimator of direct optimization over a table of all states."""

from __future__ import annotations

from typing import Literal, Self

import torch

from models.arguments import one_of, whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution, PerturbAndMAP
from ...errors import EstimatorError
from ...noise import gumbel
from ...objectives.costs import Cost
from ...schedules import Schedule
from ...spaces.of_potentials import unary_noise
from ..estimator import Compared, Estimate, Estimator
from ..options import EstimatorOptions
from ..reasons import too_many_states
from .epsilon import Epsilon, as_epsilon

Noise = Literal["states", "unary"]


class TableDirect(Estimator):
    """The direct-optimization estimator over a table of all states, with exact costs: biased.

    The bias is O(epsilon) one-sided and O(epsilon^2) two-sided for every encoder, since there is no
    coordinate-wise approximation. With noise on every state z* is an exact sample of the Gibbs
    distribution, which is the setting of the theorem. With noise on the unary scores it is a
    perturb-and-MAP sample, as in `Direct`.

    It takes up to 20 bits, and categories. `stats` are those of `Direct`.

    A step costs one table of all states, decoded once for the batch; no argmax needs a solver.

    Args:
        epsilon: a number, a schedule, or an `Epsilon`; default: 0.1.
        samples: number of noise draws per image.
        sides: 1 or 2.
        noise: "states", one Gumbel variable per state; or "unary".

    Raises:
        EstimatorError: `samples` is less than 1, `sides` is not 1 or 2, or `noise` has another
            name.

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
        samples = whole_number(samples, "samples", EstimatorError)
        sides = one_of(sides, "sides", EstimatorError, (1, 2))
        noise = one_of(noise, "noise", EstimatorError, ("states", "unary"))
        self.epsilon = as_epsilon(epsilon)
        self.samples = samples
        self.sides = sides
        self.noise = noise
        if noise == "unary":
            self.distribution = PerturbAndMAP

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.new_epsilon(), options.samples, options.sides)

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("direct, exact cost", cls.of_options),)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are more than 2^20 states, or no sums over them.

        With noise on the unary scores, sums are not needed.
        """
        return super().why_not(potentials) + too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        states = potentials.states()
        costs = cost.table(states).expand(len(potentials.unary), -1)
        fixed = costs.detach()
        least = fixed.amin(dim=-1)
        perturbed = self._perturbed(potentials.detach(), states, generator)
        # A constant cost moves no argmax, so the step size sees costs without their mean.
        epsilon = self.epsilon(step, fixed - fixed.mean(dim=-1, keepdim=True))
        chosen = perturbed.argmax(dim=-1)
        # All states are listed: the cost itself shifts the scores, not its linear approximation.
        low = (perturbed - epsilon * fixed).argmax(dim=-1)
        high = chosen
        if self.sides == 2:
            high = (perturbed + epsilon * fixed).argmax(dim=-1)
        change = potentials.score_difference(states[high], states[low]) / (self.sides * epsilon)
        change = self.once(change, potentials)
        at_sample = costs.gather(1, chosen.T).T
        changed = (high != low).float().mean()
        if len(potentials.unary):
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
        """Return the scores with noise, `[samples, batch, states]`."""
        table = potentials.table(states)
        if self.noise == "states":
            return table + gumbel(table.expand(self.samples, *table.shape), generator)
        return table + unary_noise(potentials, generator, self.samples) @ states.T
