"""RAM: one variable marginalised, the others reparameterised."""

from __future__ import annotations

import torch

from models import AnyPotentials, CategoricalPotentials

from ..errors import EstimatorError
from ..objectives.costs import Cost
from ..posteriors import Gibbs
from ..posteriors.completions import completed, completed_values
from .changes import changes_of
from .estimator import Estimate, Estimator, needs_samples


class RAM(Estimator):
    """Unbiased: each variable at both values, the others completed with common uniforms.

    q, the Gibbs distribution, draws variable by variable: q(z) = prod_v q(z_v | before v). Then

        grad E_q[cost] = sum_v E[sum over both values of z_v: grad q(z_v | before v) * E[cost |
        before v, z_v]].

    The inner expectation is estimated by one state for each value: the sample itself, and for the
    other value the sample with those after v drawn again by the same uniform numbers, its
    completion. Of n variables that takes n + 1 states.
    The completions of independent bits are their single flips: local expectation gradients. A
    variable with k values has k - 1 completions, and one by itself the exact gradient, from one
    table.

    The cost may be any function.

    A sample costs n + 1 decodes, one of them with a gradient (with `completions` c: c + 1), and no
    argmax; of n variables of k values n (k - 1) + 1; one variable costs one table of k decodes for
    the batch.

    Args:
        samples: an image, each with completions of its own.
        completions: of how many of n variables, chosen at random for each sample and weighted by n
            over their number; None for all. One variable by itself takes no notice of it.

    Raises:
        EstimatorError: no samples, or no completions.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators:
        reparameterization and marginalization. Titsias, Lázaro-Gredilla (2015), Local expectation
        gradients for black box variational inference.
    """

    kl = "exact"

    def __init__(self, samples: int = 1, completions: int | None = None):
        super().__init__()
        needs_samples(1, samples)
        if completions is not None and completions < 1:
            raise EstimatorError(
                f"completions must be at least 1, or None for all; got {completions}"
            )
        self.samples = samples
        self.completions = completions

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Fewer variables than are to be completed."""
        if isinstance(potentials, CategoricalPotentials):
            n, what = potentials.variables, f"{potentials.variables} variables"
            free = n == 1  # its table has all values
        else:
            n = potentials.unary.shape[-1]
            what, free = f"n = {n} bits", False
        if self.completions is None or self.completions <= n or free:
            return ()
        return (f"they are of {what}, and {self.completions} are to be completed",)

    def _estimate(
        self, potentials: AnyPotentials, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        if isinstance(potentials, CategoricalPotentials):
            if potentials.variables == 1:
                return _of_categories(potentials, cost, generator, self.samples)
            return _of_variables(potentials, cost, generator, self.samples, self.completions)
        drawn = completed(potentials, generator, self.samples, self.completions)
        costs = cost(drawn.z)
        fixed = costs.detach()
        changes = changes_of(cost, drawn.z, fixed, drawn.variables, drawn.completed.movedim(1, 0))
        changes = changes * (drawn.n / (drawn.count * self.samples))
        surrogate = (drawn.conditionals * changes).sum(dim=(0, 2))
        return Estimate(surrogate + costs.mean(dim=0), fixed.mean(dim=0), drawn.z)


def _of_variables(
    potentials: CategoricalPotentials,
    cost: Cost,
    generator: torch.Generator,
    samples: int,
    completions: int | None,
) -> Estimate:
    """All values of every variable, or of some, the others completed."""
    drawn = completed_values(potentials, generator, samples, completions)
    costs = cost(drawn.z)
    fixed = costs.detach()
    with torch.no_grad():
        others = cost(drawn.completed).movedim(-1, 1)  # [samples, batch, m, k - 1]
    changes = torch.zeros(
        (*drawn.variables.shape, potentials.k), dtype=fixed.dtype, device=fixed.device
    )
    changes = changes.scatter(-1, drawn.values, others - fixed[..., None, None])
    changes = changes * (potentials.variables / (drawn.variables.shape[-1] * samples))
    surrogate = (drawn.conditionals * changes).sum(dim=(0, 2, 3))
    return Estimate(surrogate + costs.mean(dim=0), fixed.mean(dim=0), drawn.z)


def _of_categories(
    potentials: CategoricalPotentials, cost: Cost, generator: torch.Generator, samples: int
) -> Estimate:
    """All values of the one variable, by a table."""
    table = cost.table(potentials.states())
    z = Gibbs(potentials).sample(generator, samples)
    costs = (table * z).sum(dim=-1).mean(dim=0)
    expected = (potentials.unary.softmax(dim=-1) * table.detach()).sum(dim=-1)
    return Estimate(expected + costs, costs.detach(), z)
