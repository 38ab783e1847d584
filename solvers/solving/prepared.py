"""`prepare`: check pairs once, and then solve for many scores over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from ..arrays import ArrayLike, ArrayOf, ArrayT
from ..errors import ProblemError, shortened
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline
from ..limits.time_limits import limit_of
from ..options import is_whole
from ..problems.pairs import topology_of
from ..problems.problem import Problem
from ..problems.topology import Topology
from ..registry import BITS
from ..solution import Solution
from ..solver import ArgmaxSolver, CertifiedSolver
from .bits.at_once import solved_over
from .call import solve
from .listening import Callback


@dataclass(frozen=True, eq=False)
class AnyPrepared:
    """Function that solves problems of any kind over the same pairs; `prepare` makes one.

    It does not keep the scores of a call, and threads may share it.

    Attributes:
        solver: a solver object, or "auto", which chooses a solver for every call.
        time_limit: seconds for the whole batch of a call, or a `Deadline` of all calls.
    """

    solver: str | CertifiedSolver[Any]
    time_limit: float | Deadline | None

    def _solution(self, problem: Any, start: Any, callback: Callback | None) -> Solution:
        solution: Solution = solve(
            problem,
            solver=self.solver,
            time_limit=self.time_limit,
            start=start,
            callback=callback,
        )
        return solution


def checked_size(n: Any) -> int:
    """Check a number of variables, and return it.

    Raises:
        ProblemError: it is not a whole number from 0 to 2^31.
    """
    if not is_whole(n, 0, 2**31):
        raise ProblemError(f"n must be a whole number from 0 to 2^31; got {shortened(n)}")
    return int(n)


@dataclass(frozen=True, eq=False)
class Prepared(AnyPrepared):
    """Function that solves problems over bits with the same pairs; `prepare` makes one.

    It does not keep the scores of a call, and threads may share it.

    Attributes:
        solver: a solver object, or "auto", which chooses a solver for every call.
        time_limit: seconds for the whole batch of a call, or a `Deadline` of all calls.
    """

    _topology: Topology = field(repr=False)
    _named: ArgmaxSolver | None = field(repr=False)  # None for "auto"

    @overload
    def __call__(
        self,
        unary: ArrayLike,
        pairwise: ArrayLike | None = None,
        *,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution[np.ndarray]: ...

    @overload
    def __call__(
        self,
        unary: ArrayOf[ArrayT],
        pairwise: ArrayOf[ArrayT] | None = None,
        *,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution[ArrayT]: ...

    @between_graphs
    def __call__(
        self,
        unary: Any,
        pairwise: Any = None,
        *,
        start: Any = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Return the answer of `solve` for these scores over the prepared pairs.

        Args:
            unary: `[..., n]`, of any kind that `solve` takes.
            pairwise: `[..., e]`, in the order of the prepared pairs; not needed if there are no
                pairs. Leading dimensions broadcast.
            start: initial states `[..., n]`, as `solve` takes them.
            callback: as `solve` takes it.

        Raises:
            ProblemError: the scores have another shape, or are not finite.
            SolverError: as `solve`.
        """
        if self.time_limit is None and start is None and callback is None:
            at_once = solved_over(self._topology, self._named, unary, pairwise)
            if at_once is not None:
                return at_once
        problem = Problem.over(self._topology, unary, pairwise)
        return self._solution(problem, start, callback)


@between_graphs
def prepare(
    edges: Any,
    n: int,
    *,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | Deadline | None = None,
) -> Prepared:
    """Check the edges of a graph once, and return a function that solves for scores on this graph.

    `solve` checks the pairs in each call.

    Args:
        edges: `[e, 2]` integers, the pair of each pairwise score; a copy is taken.
        n: number of variables.
        solver: a name of `available_solvers()`, a solver object, or "auto", as `solve` takes it.
        time_limit: seconds for the whole batch of a call, for solvers that can stop early; or a
            `Deadline`, at which all calls end.

    Raises:
        ProblemError: n is not a whole number from 0 to 2^31, or edges repeat, loop or lie outside
            0..n-1.
        UnknownSolverError: no solver has that name.
        OptionError: the time limit is not positive.

    Example:
        >>> chain = prepare([[0, 1], [1, 2]], 3)
        >>> couplings = [[2.0, 2.0], [-2.0, -2.0]]
        >>> [chain([1.0, -1.0, 1.0], weights).score for weights in couplings]
        [5.0, 2.0]
    """
    size = checked_size(n)
    named = BITS.named(solver)
    return Prepared(named or "auto", limit_of(time_limit), topology_of(edges, size), named)
