"""Problems of any tables, by a search with bounds from messages along the edges."""

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
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.first_labels import begun
from ..algorithms.whole_scores import WholeScores
from ..problem import LabelProblem
from ..solver import LabelSolver
from ..starts import starts_of


@dataclass(frozen=True)
class DualAscent(LabelSolver):
    """Exact depth-first branch and bound; the bounds come from messages along the edges.

    Each instance is bounded by sequential tree-reweighted messages in whole numbers, a table of
    equal values (Potts) in time linear in the number of values. Where that alone proves nothing,
    moves by minimum cuts and a tabu search improve the labels that the search starts from. Values
    that cannot lead above the best labels so far are removed. Of labels that may be exchanged in all
    variables without a change of any score, as in colourings and communities, the search tries one
    until a branch tells them apart. On large problems it rarely gets to a
    proof: with a time limit, labels and a bound near each other come from the root.

    Attributes:
        threads: instances at a time; None for all cores.
        visits: nodes times entries of messages after which the search for an instance ends, proved
            or not; 2^28 take some seconds. None to go on until a proof, or until the search needs
            more than 1 GiB.
        start: labels `[..., n]` to start from, which broadcast to the batch; None for none.

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
            for instance, first in enumerate(starts_of(self.start, problem))
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
            one, partial(Known._replace, part=rows)
        )
        search = begun(WholeScores.of(one), soon, first)
        search.run(soon, self.visits or np.inf)
        return search.labels, search.bound
