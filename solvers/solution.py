"""What a solver answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from .arrays import ArrayT, Scores, States, to_numpy


@dataclass(frozen=True, eq=False, init=False)
class Maximiser:
    """What a backend returns.

    Attributes:
        z: `[batch, n]`, integers: zeros and ones, or labels.
        bound: `[batch]`, float64, an upper bound on every score, proved; None where `z` is the
            maximiser of an exhaustive argument, which is its own proof. From a solver whose
            capabilities say `exact=False` None proves nothing: the sum of the positive scores
            becomes the bound.
        stats: anything worth counting.
        solver: who proved it, where that is not the backend itself.
        rounding: `[batch]`: how far `bound` can be below the score of `z` by rounding alone, where
            the backend worked with another form of the problem, of larger sums; None for
            `problem.rounding`.
        tolerance: `[batch]`: how far it can be above, where `z` still counts as optimal; None for
            `problem.rounding`.
    """

    z: States
    bound: Scores | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""
    rounding: Scores | None = None
    tolerance: Scores | None = None

    def __init__(
        self,
        z: States,
        bound: Scores | None = None,
        stats: Mapping[str, Any] | None = None,
        solver: str = "",
        rounding: Scores | None = None,
        tolerance: Scores | None = None,
    ) -> None:
        """Keeps what was found."""
        own = self.__dict__  # one by one, a frozen dataclass takes three times as long
        own["z"] = z
        own["bound"] = bound
        own["stats"] = {} if stats is None else stats
        own["solver"] = solver
        own["rounding"] = rounding
        own["tolerance"] = tolerance


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a backend returns that finds many states at once.

    Its states may be in any order: `solvers.ranking` checks them, puts them in order and certifies
    them.

    Attributes:
        z: `[batch, found, n]`, integers, none of them twice.
        others: `[batch]`, float64, an upper bound on the scores of all other states, proved;
            infinity where to exclude one state after the other is likely to prove more in the time
            that is left. None where `z` is the best of an exhaustive argument, which is its own
            proof; from a solver that is not exact None proves nothing.
        stats: anything worth counting.
        solver: who proved it, where that is not the backend itself.
    """

    z: States
    others: Scores | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""


@dataclass(frozen=True, eq=False, init=False)
class Solution(Generic[ArrayT]):
    """The best assignments found, with what is known about them.

    Arrays are of the caller's kind, on the caller's device, with the caller's leading dimensions.

    Attributes:
        z: `[..., n]`, int8 zeros and ones.
        score: `[...]`, float64, re-computed from `z`, never the backend's word.
        optimal: `[...]`, bool; True only where it is proved that no assignment scores more than
            `score`, up to the rounding of a float64 sum (`Problem.rounding`); where a solver of
            bits has found labels, up to 2^-46 of the sum of all absolute scores of the bits too.
        bound: `[...]`, float64; no assignment scores more. Equals `score` up to rounding where
            optimal.
        solver: registry name of the solver that answered. Where `auto` gave parts of a problem to
            several, the names of those that gave the bounds, joined by " + ", and `presolve` where
            nothing was left to any.
        stats: what the backend counted, by name.

    With `k_best=m` all arrays have one more dimension m behind the leading ones. A row without a
    state holds -1 in `z` and minus infinity in `score`; if its `bound` is minus infinity too, there
    are no more states.
    """

    z: ArrayT
    score: ArrayT
    optimal: ArrayT
    bound: ArrayT
    solver: str
    stats: Mapping[str, Any]

    def __init__(
        self,
        z: ArrayT,
        score: ArrayT,
        optimal: ArrayT,
        bound: ArrayT,
        solver: str,
        stats: Mapping[str, Any],
    ) -> None:
        """Keeps what is certified."""
        own = self.__dict__  # one by one, a frozen dataclass takes three times as long
        own["z"] = z
        own["score"] = score
        own["optimal"] = optimal
        own["bound"] = bound
        own["solver"] = solver
        own["stats"] = stats

    @property
    def labels(self) -> ArrayT:
        """`[..., n]`: `z`, as those call it whose variables have several values (`solvers.labels`), from 0, int64."""
        return self.z


class SolveInterrupted(KeyboardInterrupt):
    """Ctrl-C, or `interrupt_solves`, ended a search before its time.

    This is not a `SolverError`: code that catches errors means to continue, and Ctrl-C means to
    stop.

    Attributes:
        solution: the best that was found until then, with its bound, as when a time limit ends a
            search. Where no state was found, `z` is -1 and `score` is minus infinity.
    """

    def __init__(self, solution: Solution):
        self.solution = solution
        super().__init__("stopped; what was found until then is this exception's `solution`")

    @property
    def found(self) -> bool:
        """Whether every instance of `solution` has a state."""
        return bool((to_numpy(self.solution.z) >= 0).all())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.solution,)
