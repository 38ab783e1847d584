"""Find good labels for large problems by minimum cuts, and a bound by messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...limits.deadline import Deadline
from ...options import check_threads
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.first_labels import begun
from ..algorithms.side_by_side import side_by_side
from ..algorithms.whole_scores import WholeScores
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class ExpansionMoves(LabelSolver):
    """Improve labels by expansion, swap and jump moves, which minimum cuts find.

    Messages give the first labels and the bound.

    A tabu search then improves the labels, unless there are too many values to evaluate.

    It never reports `optimal=True`; `bound` shows how good its labels are.

    Attributes:
        threads: number of instances at a time; None for all cores.
        start: initial labels `[..., n]`, which broadcast to the batch; None for none.

    References:
        Boykov, Veksler, Zabih (2001), Fast approximate energy minimization via graph cuts.
        Szeliski, Zabih, Scharstein, Veksler, Kolmogorov, Agarwala, Tappen, Rother (2008), A
        comparative study of energy minimization methods for Markov random fields with
        smoothness-based priors.
    """

    threads: int | None = None
    start: Any = field(default=None, compare=False)

    name = "expansion_moves"
    capabilities = Capabilities(exact=False, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        return side_by_side(problem, deadline, _moved, self.threads, self.start)


def _moved(
    problem: LabelProblem, deadline: Deadline, first: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Return labels and a bound of an instance."""
    search = begun(WholeScores.of(problem), deadline, first)
    return search.labels, search.bound
