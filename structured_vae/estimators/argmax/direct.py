"""The estimator of direct optimization through the argmax."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, Self

import torch

from models.arguments import function, one_of, whole_number
from models.networks.decoder import Neighbourhood
from models.potentials import AnyPotentials
from models.states import single_flips

from ...distributions import Distribution, Gibbs
from ...distributions.argmax import AnySolver, argmax, checked_solver
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...objectives.recipes import KLTerm
from ...schedules import Schedule
from ...spaces import StateSpace, Structure
from ...spaces.completions import drawn_variables
from ...spaces.of_potentials import Noise, unary_noise
from ...spaces.space import finite_scores
from ..estimator import Compared, Estimate
from ..options import EstimatorOptions
from ..reasons import not_independent_bits
from .by_argmax import ByArgmax
from .changes import changes_of, usable_slope
from .epsilon import Epsilon, as_epsilon

Sides = Literal[1, 2]

SOME: Final = "direct optimization by some flips alone (flips, completions of a configuration)"
"""The name that messages give to direct optimization with `flips`."""


class Direct(ByArgmax):
    """The direct-optimization estimator, a difference of two argmaxes: biased.

    The bias is O(epsilon) for independent encoders.

    With noise gamma, z* = argmax{h + gamma} and z(epsilon) = argmax{h + gamma - epsilon cost~},
    grad E[cost(z*)] ~ E[grad h(z*) - grad h(z(epsilon))] / epsilon; the sign is that of a cost
    which is minimised. Two-sided it is E[grad h(z(-epsilon)) - grad h(z(epsilon))] / (2 epsilon),
    O(epsilon^2).

    cost~ is the coordinate-wise approximation of the cost at z*, sum_i cost(z*_1, ..., z_i, ...,
    z*_n). Its argmax needs no more than the solver of h, since it only shifts the unary scores.
    Without pairwise scores and without a structure a small epsilon flips at most one variable, for
    which cost~ is exact, so the bias vanishes with epsilon. With pairwise scores or a structure one
    flip can cause others, and cost~ misses their joint cost. Some bias then stays: one-sided where
    two or more variables move together, two-sided where three or more do. In a space of dependent
    variables the cost is evaluated at neighbours of z* that are states, and cost~ is the linear
    function that fits its changes best (`StateSpace.around`); some bias stays there too.
    `ScoreFunction` has no bias. For one variable of k categories cost~ is the cost itself, from one
    table. For several variables it has the cost of each value of each variable, with the other
    variables as in z*.

    `stats` has "changed", the share of samples whose argmax moves, and "saturated", the share whose
    z(epsilon) minimises cost~ whatever the scores.

    A sample costs n + 2 decodes, one of them with a gradient, and 2 argmaxes (two-sided 3). For one
    variable of k categories it takes one table of k decodes for the batch. For n variables of k
    categories it takes n (k - 1) + 2 decodes.

    With `flips` m a sample costs m + 1 decodes. Each of n independent bits is decided by its own
    change of the cost, so m of them at random, weighted by n / m, have the same expectation as all.
    The KL is part of the cost, as with all flips: epsilon shrinks the gradient of a bit that is
    nearly certain, so the gradient of a KL beside the cost would outweigh it.

    Args:
        solver: name or object of `solvers`, or a `Structure`. For categories with pairwise scores
            it is one of `solvers.labels`; for other categories it is not used.
        epsilon: a number, a schedule, or an `Epsilon`; default: 0.1.
        samples: number of noise draws per image.
        sides: 1 or 2.
        noise: makes the noise on the unary scores; `no_noise` for the argmax of the scores
            themselves.
        flips: how many of n independent bits to flip for the changes of the cost, chosen at random
            for each sample; None for all. It needs `unary_noise`, with which states are samples
            of the Gibbs distribution.

    Raises:
        EstimatorError: `samples` or `flips` is less than 1, or `sides` is not 1 or 2.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, theorem 1 and section 3.1.
    """

    kl: KLTerm = "folded"
    takes_completions = True

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
        samples = whole_number(samples, "samples", EstimatorError)
        if flips is not None:
            flips = whole_number(flips, "flips", EstimatorError, none="all")
        sides = one_of(sides, "sides", EstimatorError, (1, 2))
        function(noise, "noise", EstimatorError, "a function of potentials")
        self.solver = checked_solver(solver)
        self.epsilon = as_epsilon(epsilon)
        self.samples = samples
        self.sides = sides
        self.noise = noise
        self.flips = flips
        if flips is not None:
            self.distribution = Gibbs

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(
            options.solver,
            options.new_epsilon(),
            options.samples,
            options.sides,
            flips=options.completions,
        )

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (
            Compared("direct", cls.of_options),
            Compared(
                "direct, two-sided", lambda options: cls.of_options(replace(options, sides=2))
            ),
        )

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes: one for each side and one for z*, for every sample."""
        return self.samples * (1 + self.sides)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return reasons: pairs in a space that takes none, or `flips` without independent bits."""
        reasons = super().why_not(potentials)
        if self.flips is None:
            return reasons
        n = potentials.unary.shape[-1]
        h = self._in_space(potentials)
        reasons += not_independent_bits(h, SOME)
        if self.flips > n:
            reasons += (f"they are of n = {n} bits, and {self.flips} are to be flipped",)
        return reasons

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        # The draw has no gradient; the potentials get theirs from `score_difference` below.
        perturbed = potentials.detach().shifted(self.noise(potentials, generator, self.samples))
        z = argmax(perturbed, self._solver_of_pairs)
        variables = None
        if self.flips is not None:
            variables = drawn_variables(z, generator, self.flips)
        around = _around(q.space, cost, z, finite_scores(perturbed), variables)
        slope, mark = usable_slope(around.slope)
        slope = potentials.where_allowed(slope)
        measured = slope
        if variables is not None:
            measured = slope.gather(-1, variables)
        # With m of n flips measured, n / m makes up for the others on average.
        weight = slope.shape[-1] / max(1, measured.shape[-1])
        epsilon = self.epsilon.at(step, measured, perturbed, z)
        # The second argmax is at lower cost; two-sided, the first moves to higher cost.
        shift = epsilon * slope
        low = argmax(perturbed.shifted(-shift), self._solver_of_pairs)
        high = z
        if self.sides == 2:
            high = argmax(perturbed.shifted(shift), self._solver_of_pairs)
        divisor = epsilon
        if self.epsilon.by_instance:
            divisor = torch.as_tensor(epsilon)[..., 0]
        # A finite difference: its gradient in the potentials
        # is (z(high) - z(low)) / (sides epsilon).
        change = mark * weight * potentials.score_difference(high, low) / (self.sides * divisor)
        change = self.once(change, potentials)
        changed = (high != low).any(dim=-1).float().mean()
        if len(potentials.unary):
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
    """Return the cost at z and its changes, which are 0 for variables that are left out."""
    if variables is None:
        return space.around(cost, z, scores)
    at_z = cost(z)
    changes = changes_of(cost, z, at_z, variables, single_flips(z, variables))
    return Neighbourhood(at_z, torch.zeros_like(z).scatter(-1, variables, changes))
