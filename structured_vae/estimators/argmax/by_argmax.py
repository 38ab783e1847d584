"""Base of estimators that use argmaxes of perturbed scores, from a solver or a space."""

from __future__ import annotations

from abc import ABC

from models.potentials import AnyPotentials

from ...distributions import Distribution, PerturbAndMAP
from ...distributions.argmax import AnySolver
from ...spaces import StateSpace, Structure, as_space, is_structure
from ..estimator import Estimator


class ByArgmax(Estimator, ABC):
    """An estimator whose samples are argmaxes, by a solver or over a space.

    Attributes:
        solver: the solver, by name or object; or the space whose states alone are drawn.
    """

    perturbs = True
    untransformable = "asks a solver for argmaxes"
    outside = "call ArgmaxLayer or a loss there, without a cost"
    solver: AnySolver | Structure | StateSpace

    @property
    def over(self) -> StateSpace | None:
        """The space that replaces a solver, or None."""
        if is_structure(self.solver):
            return as_space(self.solver)
        return None

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return perturb-and-MAP by the solver."""
        return PerturbAndMAP(self._in_space(potentials), self._solver_of_pairs)

    @property
    def _solver_of_pairs(self) -> AnySolver:
        """The solver; "auto" where a space replaces it."""
        if is_structure(self.solver):
            return "auto"
        return self.solver
