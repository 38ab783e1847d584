"""Solve problems with any tables by a search with bounds from messages along the edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...compiled.threads import available_cores
from ...limits.deadline import Deadline
from ...limits.interrupts import in_threads
from ...limits.progress import Known
from ...options import check_threads, check_whole
from ...problems.starts import starts_of
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.first_labels import begun
from ..algorithms.whole_scores import WholeScores
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class DualAscent(LabelSolver):
    """Exact depth-first branch and bound; the bounds come from messages along the edges.

    Sequential tree-reweighted messages in whole numbers bound each instance. A Potts table takes
    time linear in the number of values. If the root does not prove an optimum, moves by minimum
    cuts and a tabu search improve the incumbent. Values that cannot lead above the incumbent are
    removed. If exchanging two labels in all variables changes no score, as in colourings and
    communities, the search tries one of them until a branch distinguishes them. On large problems
    the search rarely ends with a certificate. With a time limit, the root gives labels whose score
    is near the bound.

    Attributes:
        threads: number of instances at a time; None for all cores.
        visits: nodes times message entries after which the search for an instance ends, with or
            without a proof; 2^28 take some seconds. None to continue until a proof, or until the
            search needs more than 1 GiB.
        start: initial labels `[..., n]`, which broadcast to the batch; None for none.

    References:
        Roney-Dougal, Gent, Kelsey, Linton (2004), Tractable symmetry breaking using restricted
        search trees.
        Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
        Kolmogorov (2015), A new look at reweighted message passing.
        Cooper, de Givry, Sanchez, Schiex, Zytnicki, Werner (2010), Soft arc consistency revisited.
    """

    threads: int | None = None
    visits: int | None = None
    start: Any = field(default=None, compare=False)

    name = "dual_ascent"
    capabilities = Capabilities(exact=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.visits is not None:
            check_whole("visits", self.visits, 1, 2**62)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        workers = self.threads or available_cores()
        tasks = [
            partial(self._solve, problem, instance, workers, deadline, first)
            for instance, first in enumerate(starts_of(self.start, problem, np.int64))
        ]
        labels, bounds = zip(*in_threads(tasks, min(workers, len(tasks))), strict=True)
        return Maximiser(np.stack(labels), np.array(bounds))

    def _solve(
        self,
        problem: LabelProblem,
        instance: int,
        workers: int,
        deadline: Deadline,
        first: np.ndarray | None,
    ) -> tuple[np.ndarray, float]:
        rounds = -(-(problem.batch - instance) // workers)
        one = problem.instances(slice(instance, instance + 1))
        rows = slice(instance, instance + 1)
        soon = deadline.within(deadline.left / rounds).within_whole(
            one, partial(Known._replace, rows=rows)
        )
        search = begun(WholeScores.of(one), soon, first)
        search.run(soon, self.visits or np.inf)
        return search.labels, search.bound
