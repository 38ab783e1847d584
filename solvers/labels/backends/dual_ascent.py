"""Solve problems with any tables by a search with bounds from messages along the edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...limits.deadline import Deadline
from ...options import check_threads, check_whole
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.first_labels import begun
from ..algorithms.side_by_side import side_by_side
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
        return side_by_side(problem, deadline, self._solve, self.threads, self.start)

    def _solve(
        self, problem: LabelProblem, deadline: Deadline, first: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        search = begun(WholeScores.of(problem), deadline, first)
        search.run(deadline, self.visits or np.inf)
        return search.labels, search.bound
