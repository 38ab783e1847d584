"""Solve problems without pairs: choose the best value of each variable."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import namespace_of
from ...limits.deadline import Deadline
from ...solution import Maximiser
from ...solver import Capabilities
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class Independent(LabelSolver):
    """Exact solver of problems without pairwise scores."""

    name = "independent"
    capabilities = Capabilities(exact=True, pairwise=False, on_device=True)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        return Maximiser(namespace_of(problem.unary).argmax(problem.unary, axis=-1))
