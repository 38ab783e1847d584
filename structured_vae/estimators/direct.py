"""Direct optimization through the argmax."""

from __future__ import annotations

from typing import Final, Literal

import torch

from models.decoder import Neighbourhood
from models.potentials import AnyPotentials
from models.states import single_flips

from ..distributions import Distribution, Gibbs, PerturbAndMAP
from ..distributions.argmax import AnySolver, argmax
from ..errors import EstimatorError
from ..objectives.costs import Cost
from ..objectives.recipes import KLTerm
from ..schedules import Schedule
from ..spaces import StateSpace, Structure, as_space, is_structure
from ..spaces.completions import drawn_variables
from ..spaces.of_potentials import Noise, unary_noise
from .changes import changes_of, usable_slope
from .epsilon import Epsilon, as_epsilon
from .estimator import Estimate, Estimator, needs_samples
from .reasons import not_bits, not_factorised

Sides = Literal[1, 2]

SOME: Final = "direct optimization by some flips alone (flips, completions of a configuration)"
"""As reasons call it."""


class Direct(Estimator):
    """Biased: the difference of two argmaxes; O(epsilon) for independent encoders.

    With noise gamma, z* = argmax{h + gamma} and z(epsilon) = argmax{h + gamma - epsilon cost~},
    grad E[cost(z*)] ~ E[grad h(z*) - grad h(z(epsilon))] / epsilon; the sign is that of a cost
    which is minimised. Two-sided it is E[grad h(z(-epsilon)) - grad h(z(epsilon))] / (2 epsilon),
    O(epsilon^2).

    cost~ is the coordinate-wise approximation of the cost at z*, sum_i cost(z*_1, ..., z_i, ...,
    z*_n), whose argmax needs no more than the solver of h: it only shifts the unary scores. Without
    pairwise scores and without a structure a small epsilon flips at most one variable, of which
    cost~ is exact, and the bias vanishes with epsilon. With either one flip can bring others along,
    whose joint cost cost~ misses: some bias stays, of one side wherever two variables or more move
    together, of two sides from three on. In a space of dependent variables the cost is asked at
    neighbours of z* that are states, and cost~ is the linear function that fits its changes best
    (`StateSpace.around`); there too some bias stays. `ScoreFunction` has none. For one variable of
    k categories cost~ is the cost itself, from one table; for several it has the cost of each value
    of each variable, the others as in z*.

    `stats`: "changed", the share of samples whose argmax moves; "saturated", the share whose
    z(epsilon) is already the minimiser of cost~, whatever the scores.

    A sample costs n + 2 decodes, one of them with a gradient, and 2 argmaxes (two-sided 3); with k
    categories one table of k decodes for the batch, with n variables of k categories n (k - 1) + 2
    decodes.

    With `flips` m it costs m + 1 decodes. Each of independent bits is decided by its own change of
    the cost, so that m of them at random, weighted by n / m, have the same expectation as all. They
    follow the Gibbs distribution, whose KL is known, so that no flip is spent on that.

    Args:
        solver: name or object of `solvers`, or a `Structure`; of `solvers.labels` for categories
            with pairwise scores, and not used for others.
        epsilon: a number, a schedule, or an `Epsilon`; default: 0.1.
        samples: noise draws an image.
        sides: 1 or 2.
        noise: added to the unary scores; `no_noise` where the argmax of the scores themselves is
            meant.
        flips: of how many of n independent bits the change of the cost is asked, chosen at random
            for each sample; None for all. With `unary_noise`, by which states are samples whose KL
            is exact.

    Raises:
        EstimatorError: no samples, other sides, or no flips.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, theorem 1 and section 3.1.
    """

    kl: KLTerm = "folded"

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        epsilon: Schedule | Epsilon | float | None = None,
        samples: int = 1,
        sides: Sides = 1,
        noise: Noise = unary_noise,
        flips: int | None = None,
    ):
        super().__init__()
        needs_samples(1, samples)
        if flips is not None and flips < 1:
            raise EstimatorError(f"flips must be at least 1, or None for all; got {flips}")
        if sides not in (1, 2):
            raise EstimatorError(f"sides must be 1 or 2; got {sides}")
        self.solver = solver
        self.epsilon = as_epsilon(epsilon)
        self.samples = samples
        self.sides = sides
        self.noise = noise
        self.flips = flips
        if flips is not None:
            self.kl = "exact"

    @property
    def over(self) -> StateSpace | None:
        """The space that stands in the place of a solver."""
        return as_space(self.solver) if is_structure(self.solver) else None

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return perturb-and-MAP by the solver; with `flips`, of independent bits, which it samples exactly."""
        if self.flips is not None:
            return Gibbs(potentials)
        return PerturbAndMAP(self._in_space(potentials), self._own_solver)

    @property
    def _own_solver(self) -> AnySolver:
        """The solver; "auto" where a space stands in its place."""
        return "auto" if is_structure(self.solver) else self.solver

    @property
    def argmaxes(self) -> int:
        """One for each side and one for z*, for every sample."""
        return self.samples * (1 + self.sides)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return reasons: pairs in a space that takes none, or flips of what are not independent bits."""
        reasons = super().why_not(potentials)
        if self.flips is None:
            return reasons
        n = potentials.unary.shape[-1]
        few = (
            (f"they are of n = {n} bits, and {self.flips} are to be flipped",)
            if self.flips > n
            else ()
        )
        h = self._in_space(potentials)
        return reasons + not_bits(h, SOME) + not_factorised(h, SOME) + few

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        perturbed = potentials.detach().shifted(self.noise(potentials, generator, self.samples))
        z = argmax(perturbed, self._own_solver)
        variables = None
        if self.flips is not None:
            variables = drawn_variables(z, generator, self.flips)
        around = _around(q.space, cost, z, perturbed.unary, variables)
        slope, mark = usable_slope(around.slope)
        slope = potentials.where_allowed(slope)
        asked = slope if variables is None else slope.gather(-1, variables)
        weight = slope.shape[-1] / asked.shape[-1]
        epsilon = self.epsilon.at(step, asked, perturbed, z)
        shift = epsilon * slope
        low = argmax(perturbed.shifted(-shift), self._own_solver)
        high = z
        if self.sides == 2:
            high = argmax(perturbed.shifted(shift), self._own_solver)
        change = mark * weight * potentials.score_difference(high, low) / (self.sides * epsilon)
        changed = (high != low).any(dim=-1).float().mean()
        self.epsilon.observe(changed)
        saturated = q.space.minimises(slope, low).float().mean()
        stats = {"changed": changed, "saturated": saturated}
        cost_at_z = around.cost.detach().mean(dim=0)
        return Estimate((change + around.cost).mean(dim=0), cost_at_z, z, stats)


def _around(
    space: StateSpace,
    cost: Cost,
    z: torch.Tensor,
    scores: torch.Tensor,
    variables: torch.Tensor | None,
) -> Neighbourhood:
    """Return the cost at z and its change in all variables, or in some, with 0 in the others."""
    if variables is None:
        return space.around(cost, z, scores)
    at_z = cost(z)
    changes = changes_of(cost, z, at_z, variables, single_flips(z, variables))
    return Neighbourhood(at_z, torch.zeros_like(z).scatter(-1, variables, changes))
