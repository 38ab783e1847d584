"""The estimator RAM: one variable marginalised, the others reparameterised."""

from __future__ import annotations

from typing import Self

import torch

from models.arguments import whole_number
from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..errors import EstimatorError
from ..objectives.costs import Cost
from ..spaces import space_of
from .estimator import Compared, Estimate, Estimator
from .options import EstimatorOptions


class RAM(Estimator):
    """The RAM estimator, which compares both values of each variable: unbiased.

    q, the Gibbs distribution, draws variable by variable: q(z) = prod_v q(z_v | before v). Then

        grad E_q[cost] = sum_v E[sum over both values of z_v: grad q(z_v | before v) * E[cost |
        before v, z_v]].

    The inner expectation is estimated by one state for each value. For one value it is the sample
    itself. For the other it is the completion: the sample in which the variables after v are drawn
    again with the same uniform numbers. For n variables that takes n + 1 states. The completions of
    independent bits are their single flips, and the estimator is then local expectation gradients.
    A variable with k values has k - 1 completions. A single variable has the exact gradient, from
    one table.

    The cost may be any function.

    A sample costs n + 1 decodes, one of them with a gradient, and no argmax. With `completions` c
    it costs c + 1 decodes, and for n variables of k values n (k - 1) + 1. A single variable costs
    one table of k decodes for the batch.

    Args:
        samples: number of samples per image, each with different completions.
        completions: how many of n variables to complete, chosen at random for each sample and
            weighted by n over their number; None for all. A single variable ignores it.

    Raises:
        EstimatorError: `samples` or `completions` is less than 1.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators:
        reparameterization and marginalization. Titsias, Lázaro-Gredilla (2015), Local expectation
        gradients for black box variational inference.
    """

    kl = "density"
    takes_any_density = True
    takes_completions = True

    def __init__(self, samples: int = 1, completions: int | None = None):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        if completions is not None:
            completions = whole_number(completions, "completions", EstimatorError, none="all")
        self.samples = samples
        self.completions = completions

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples, options.completions)

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("RAM", lambda _: cls(), has_setting=False),)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are fewer variables than `completions`."""
        reasons = super().why_not(potentials)
        h = self._in_space(potentials)
        n = space_of(h).variable_count(h.unary.shape[-1])
        # The table of one variable has all its values.
        if self.completions is None or self.completions <= n or space_of(h).one_variable:
            return reasons
        what = f"n = {n} bits"
        if space_of(h).categorical:
            what = f"{n} variables"
        return (*reasons, f"they are of {what}, and {self.completions} are to be completed")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        if q.space.one_variable:
            return _by_table(q, cost, generator, self.samples)
        completions = q.completions(generator, self.samples, self.completions)
        costs = cost(completions.z)
        fixed = costs.detach()
        changes = completions.expected_changes(cost, fixed)
        changes = self.once(changes, q.potentials)
        return Estimate(changes + costs.mean(dim=0), fixed.mean(dim=0), completions.z)


def _by_table(q: Distribution, cost: Cost, generator: torch.Generator, samples: int) -> Estimate:
    """Return the estimate from all values of the one variable, decoded once for the batch."""
    table = cost.table(q.potentials.states())
    z = q.sample(generator, samples)
    costs = (table * z).sum(dim=-1).mean(dim=0)
    expected = (q.potentials.unary.softmax(dim=-1) * table.detach()).sum(dim=-1)
    return Estimate(expected + costs, costs.detach(), z)
