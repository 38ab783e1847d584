"""Solve small problems by scoring all assignments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...limits.deadline import Deadline
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.all_scores import all_scores
from ..problem import LabelProblem
from ..solver import LabelSolver

MOST_STATES = 1 << 20


@dataclass(frozen=True)
class Exhaustive(LabelSolver):
    """Exact solver of up to 2^20 assignments, which scores all of them."""

    name = "exhaustive"
    capabilities = Capabilities(exact=True)

    def why_not(self, problem: LabelProblem) -> tuple[str, ...]:
        """Return a reason if there are more than 2^20 assignments."""
        reasons = super().why_not(problem)
        if problem.states <= MOST_STATES:
            return reasons
        if problem.states > 10**300:
            states = "more than 1e+300"
        else:
            states = f"{float(problem.states):.3g}"
        reason = f"there are {states} assignments and it tries at most {MOST_STATES:,}"
        return (*reasons, reason)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        return Maximiser(np.stack([_best(problem, instance) for instance in range(problem.batch)]))


def _best(problem: LabelProblem, instance: int) -> np.ndarray:
    scores = all_scores(problem, instance)
    state: np.ndarray = np.stack(np.unravel_index(scores.argmax(), problem.sizes))
    return state
