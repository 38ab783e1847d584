"""The negative log-likelihood, which needs sums over all states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Self

import torch

from models import Potentials
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..distributions import Gibbs
from ..distributions.argmax_module import Seed
from ..errors import StructureError
from ..spaces import Structure, as_space, is_structure
from .structured_loss import StructuredLoss

NO_WEIGHT: Final = 1000.0
"""Penalty in nats for a forbidden state: exp(-1000) is 0 in float64."""


class GibbsLikelihood(StructuredLoss):
    """The negative log-likelihood log Z - h(y) of a conditional random field, in nats.

    The model is p(z) = exp(h(z)) / Z. Gradient: E_p[s(z)] - s(y), exact. The loss is convex in the
    scores, smooth and positive. It needs log Z and marginals instead of an argmax. With pairwise
    scores these exist for up to 20 variables, and for more if the treewidth is at most about 20. A
    grid of 16 by 16 takes a quarter of a second per instance. A structure must have `gibbs`. This
    loss fits probabilities: the argmax of the scores is then the most probable state, which need
    not be the one with the least expected loss.

    Args:
        solver: a structure with `gibbs`; a solver is not used, since sums replace the argmax.
        seed: not used.
        constraints: must be empty, since sums within constraints are not known.

    Raises:
        StructureError: there are constraints, or the structure has no `gibbs`.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> unary = torch.zeros((1, 2), requires_grad=True)
        >>> GibbsLikelihood()(unary, target=torch.ones(1, 2))  # 2 log 2
        tensor([1.3863], grad_fn=<ToCopyBackward0>)
    """

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        seed: Seed = None,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, seed, constraints)
        self._check_sums()

    def over(self, structure: Structure) -> Self:
        """Return this loss over another structure with `gibbs`, as `ArgmaxLayer.over` does."""
        copy = super().over(structure)
        copy._check_sums()
        return copy

    def _check_sums(self) -> None:
        """Raise if there are no sums over the states.

        Raises:
            StructureError: the states are those of constraints, or of a structure without `gibbs`.
        """
        if not is_structure(self.solver):
            return
        space = as_space(self.solver)
        if not space.tractable:
            raise StructureError(
                f"GibbsLikelihood needs a sum over all states, and {space} has no gibbs: use "
                "StructuredHinge or PerturbedFenchelYoung, which need an argmax only; or a "
                "structure with gibbs, such as KOfN(2) in place of cardinality(2)"
            )

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        structure: Any = None
        if is_structure(self.solver):
            structure = self.solver
        # Both terms are large compared with their difference, hence float64.
        double = potentials.widened(torch.float64)
        flat = double.flattened()
        marked = replace(flat, unary=flat.scores()[0])
        summed = marked
        if structure is None:
            summed = flat.penalised(NO_WEIGHT)
        log_partition = Gibbs(summed, structure).log_partition.reshape(y.shape[:-1])
        return (log_partition - double.score(y.double())).to(potentials.unary)
