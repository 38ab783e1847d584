"""`prepare` for labels: check pairs once, and then solve for many scores over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from ..arrays import ArrayLike, ArrayOf, ArrayT
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline
from ..limits.time_limits import limit_of
from ..solution import Solution
from ..solver import ArgmaxSolver
from ..solving.listening import Callback
from ..solving.prepared import AnyPrepared, checked_size
from .problem import LabelProblem, Pairs
from .selection import named_solver
from .solver import LabelSolver


@dataclass(frozen=True, eq=False)
class PreparedLabels(AnyPrepared):
    """Function that solves label problems over the same pairs; `prepare` makes one.

    It does not keep the scores of a call, and threads may share it.

    Attributes:
        solver: a solver object, or "auto", which chooses a solver for every call.
        time_limit: seconds for the whole batch of a call, or a `Deadline` of all calls.
        sizes: `[n]`, the number of values of each variable; None to take it from the scores.
    """

    sizes: Any
    _pairs: Pairs = field(repr=False)

    @overload
    def __call__(
        self,
        unary: ArrayLike,
        pairwise: ArrayLike | None = None,
        *,
        potts: Any = None,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution[np.ndarray]: ...
    @overload
    def __call__(
        self,
        unary: ArrayOf[ArrayT],
        pairwise: ArrayOf[ArrayT] | None = None,
        *,
        potts: Any = None,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution[ArrayT]: ...
    @between_graphs
    def __call__(
        self,
        unary: Any,
        pairwise: Any = None,
        *,
        potts: Any = None,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Return the answer of `solve` for these scores over the prepared pairs.

        Args:
            unary: `[..., n, k]`, of any kind that `solve` takes.
            pairwise: `[..., e, k, k]`, in the order and the directions of the prepared pairs, or
                `[k, k]` for all pairs; not needed if there are no pairs.
            potts: in place of `pairwise`, the score of equal values.
            start: initial labels `[..., n]`.
            callback: as `solve` takes it.

        Raises:
            ProblemError: the scores have another shape, or are not finite.
            SolverError: as `solve`.
        """
        problem = LabelProblem.over(self._pairs, unary, pairwise, sizes=self.sizes, potts=potts)
        return self._solution(problem, start, callback)


@between_graphs
def prepare(
    edges: Any,
    n: int,
    *,
    sizes: Any = None,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | Deadline | None = None,
) -> PreparedLabels:
    """Check the edges of a graph once, and return a function that finds its best labels.

    `solvers.prepare` does the same for bits.

    Args:
        edges: `[e, 2]` integers, the pair of each table; a copy is taken.
        n: number of variables.
        sizes: `[n]`, the number of values of each variable, if they differ.
        solver: as `solve` takes it.
        time_limit: seconds for the whole batch of a call, for solvers that can stop early; or a
            `Deadline`, at which all calls end.

    Raises:
        ProblemError: n is not a whole number from 1 to 2^31, or edges repeat, loop or lie outside
            0..n-1.
        UnknownSolverError: no solver has that name.
        OptionError: the time limit is not positive.

    Example:
        >>> chain = prepare([[0, 1], [1, 2]], 3)
        >>> scores = [[1.0, 0.0], [0.0, 0.4], [1.0, 0.0]]
        >>> [chain(scores, potts=reward).labels.tolist() for reward in (0.1, 0.3)]
        [[0, 1, 0], [0, 0, 0]]
    """
    pairs = Pairs.of(np.array(edges, copy=True), checked_size(n))
    return PreparedLabels(named_solver(solver) or "auto", limit_of(time_limit), sizes, pairs)
