"""Find good labels for large problems by minimum cuts, and a bound by messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...compiled.threads import available_cores
from ...limits.deadline import Deadline
from ...limits.interrupts import in_threads
from ...limits.progress import Known
from ...options import check_threads
from ...problems.starts import starts_of
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.first_labels import begun
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
        workers = self.threads or available_cores()
        tasks = [
            partial(_moved, problem, instance, workers, deadline, first)
            for instance, first in enumerate(starts_of(self.start, problem, np.int64))
        ]
        labels, bounds = zip(*in_threads(tasks, min(workers, len(tasks))), strict=True)
        return Maximiser(np.stack(labels), np.array(bounds))


def _moved(
    problem: LabelProblem,
    instance: int,
    workers: int,
    deadline: Deadline,
    first: np.ndarray | None,
) -> tuple[np.ndarray, float]:
    """Return labels and a bound of an instance, within its share of the time."""
    one = problem.instances(slice(instance, instance + 1))
    rows = slice(instance, instance + 1)
    soon = deadline.within(deadline.left / -(-(problem.batch - instance) // workers))
    heard = soon.within_whole(one, partial(Known._replace, rows=rows))
    search = begun(WholeScores.of(one), heard, first)
    return search.labels, search.bound
