"""Define the answers of backends and of `solve`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeAlias

import numpy as np

from .arrays import ArrayT, Flags, Scores, States, namespace_of, to_numpy
from .tables import (
    MOST_ROWS,
    Table,
    certificate_text,
    data_frame,
    gap_of,
    number_text,
    seconds_text,
    state_text,
)

AtOnce: TypeAlias = tuple[float | Scores, float | Scores, bool | Flags, dict[str, Any]]
"""Result of one kernel call for small instances: score, bound, certificate and statistics."""


@dataclass(frozen=True, eq=False, init=False)
class Maximiser:
    """States and bounds that the `_argmax` method of a solver returns.

    Attributes:
        z: `[batch, n]`, integers: zeros and ones, or labels.
        bound: `[batch]`, float64, a proved upper bound on every score; None if an exhaustive
            argument gave the maximiser `z`, which is its own certificate. If the solver's
            capabilities have `exact=False`, None proves nothing, and the sum of the positive scores
            becomes the bound.
        stats: counts by name.
        solver: the solver that proved the bound, if it is not the backend.
        rounding: `[batch]`, how far `bound` can be below the score of `z` by rounding alone. A
            backend sets it if it uses another form of the problem, with larger sums; None for
            `problem.rounding`.
        tolerance: `[batch]`, the maximum gap at which `z` still counts as optimal; None for
            `problem.tolerance`.
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
        """Store the answer."""
        # Assigning through __dict__ takes a third of the time of a frozen dataclass.
        fields = self.__dict__
        fields["z"] = z
        fields["bound"] = bound
        if stats is None:
            stats = {}
        fields["stats"] = stats
        fields["solver"] = solver
        fields["rounding"] = rounding
        fields["tolerance"] = tolerance


@dataclass(frozen=True, eq=False)
class Ranking:
    """States and bounds of a backend that finds many states in one search.

    Its states may be in any order: `solvers.ranking` checks, orders and certifies them.

    Attributes:
        z: `[batch, states, n]`, integers, all distinct.
        others: `[batch]`, float64, proved upper bounds on the scores of all other states; infinity
            if excluding one state after the other is likely to prove more in the remaining time.
            None if an exhaustive argument gave the best states `z`, which is its own certificate.
            From a solver that is not exact, None proves nothing.
        stats: counts by name.
        solver: the solver that proved the bounds, if it is not the backend.
    """

    z: States
    others: Scores | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Solution(Generic[ArrayT]):
    """Best assignments of a search, with their bounds and optimality certificates.

    Arrays are of the caller's kind, on the caller's device, with the caller's leading dimensions.
    For one instance without leading dimensions, `score`, `bound` and `gap` are Python floats, and
    `optimal` is a Python bool, for any kind of array.

    Attributes:
        z: `[..., n]`, int8 zeros and ones.
        score: `[...]`, float64, always computed again from `z`.
        optimal: `[...]`, bool; True only if a bound proves that no assignment scores more than
            `score`, up to the rounding of a float64 sum (`Problem.rounding`). If a binary solver
            found labels, the proof also allows 2^-46 of the sum of all absolute scores of the bits.
        bound: `[...]`, float64, an upper bound on all scores. It equals `score` up to rounding if
            `optimal` is True.
        gap: `[...]`, float64, `bound - score`; 0 if both are equal.
        solver: registry name of the solver that answered. If `auto` solved a problem in several
            parts, it has the names of the solvers of the bounds, joined by " + "; `presolve` if no
            part remained.
        stats: counts of the backend, by name.
        seconds: wall-clock time of the call of `solve`, for all instances together; nan if a solver
            object was called directly.

    With `k_best=m` all arrays have one more dimension m after the leading ones. A row without a
    state contains -1 in `z` and minus infinity in `score`; if its `bound` is minus infinity too,
    there are no more states.

    A row with a state contains -1 in `z` only where an instance has no variable, such as in the
    padding of a shorter chain. Printed states have a dash there.
    """

    z: ArrayT
    score: Any  # an array, or a float for one instance
    optimal: Any
    bound: Any
    solver: str
    stats: Mapping[str, Any]
    seconds: float = math.nan

    def __init__(
        self,
        z: ArrayT,
        score: Any,
        optimal: Any,
        bound: Any,
        solver: str,
        stats: Mapping[str, Any],
        seconds: float = math.nan,
    ) -> None:
        """Store a certified answer."""
        if type(score) is not float and not score.shape:
            score = float(score)
            optimal = bool(optimal)
            bound = float(bound)
        # Assigning through __dict__ takes a third of the time of a frozen dataclass.
        fields = self.__dict__
        fields["z"] = z
        fields["score"] = score
        fields["optimal"] = optimal
        fields["bound"] = bound
        fields["solver"] = solver
        fields["stats"] = stats
        fields["seconds"] = seconds

    def after(self, seconds: float) -> Solution[ArrayT]:
        """Return this solution with the seconds that it took."""
        return Solution(
            self.z, self.score, self.optimal, self.bound, self.solver, self.stats, seconds
        )

    @property
    def gap(self) -> Any:
        """The gap `[...]` between the bound and the score: `bound - score`.

        Example:
            >>> from solvers import solve
            >>> solve([1.0, -2.0]).gap
            0.0
        """
        if isinstance(self.score, float):
            return gap_of(self.score, self.bound)
        xp = namespace_of(self.score)
        equal = self.bound == self.score  # also for infinities of the same sign
        score = xp.where(equal, xp.zeros_like(self.score), self.score)
        return xp.where(equal, xp.zeros_like(self.bound), self.bound) - score

    @property
    def labels(self) -> ArrayT:
        """The labels `[..., n]`, int64 from 0: the name of `z` for variables of several values."""
        return self.z

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with one row per instance, or one per best state.

        The columns are score, bound, gap, optimal, solver, seconds, and `z 0` to `z n-1`. The
        seconds are those of the whole call. The rows of a batch are numbered by their place in the
        leading dimensions. As in `z`, -1 stands for no value.

        Raises:
            SolverUnavailableError: pandas is not installed.

        Example:
            >>> from solvers import solve
            >>> table = solve([[1.0, -2.0], [3.0, 4.0]]).to_pandas()
            >>> table[["score", "optimal", "z 0", "z 1"]].values.tolist()
            [[1.0, True, 1, 0], [7.0, True, 1, 1]]
        """
        rows = []
        for place in np.ndindex(self._leading):
            z, score, bound, optimal = self._at(place)
            states = {f"z {i}": value for i, value in enumerate(z)}
            gap = gap_of(score, bound)
            facts = {"score": score, "bound": bound, "gap": gap, "optimal": optimal}
            rows.append({**facts, "solver": self.solver, "seconds": self.seconds, **states})
        index = None
        if len(self._leading) > 1:
            index = list(np.ndindex(self._leading))
        return data_frame(rows, index)

    @property
    def _leading(self) -> tuple[int, ...]:
        """The leading dimensions of the arrays."""
        if isinstance(self.score, float):
            return ()
        return tuple(self.score.shape)

    def _at(self, place: tuple[int, ...]) -> tuple[list[int], float, float, bool]:
        """Return the state, score, bound and certificate at a place, as Python numbers."""
        arrays = (self.z, self.score, self.bound, self.optimal)
        z, score, bound, optimal = (to_numpy(array)[place].tolist() for array in arrays)
        return z, score, bound, optimal

    def _table(self) -> Table:
        leading = self._leading
        columns = ["state", "score", "bound", "gap", "certificate", "solver"]
        rows = []
        for place in islice(np.ndindex(leading), MOST_ROWS):
            z, score, bound, optimal = self._at(place)
            numbers = map(number_text, (score, bound, gap_of(score, bound)))
            row = [state_text(z), *numbers, certificate_text(optimal), self.solver]
            if leading:
                row = [" ".join(map(str, place)), *row]
            rows.append(row)
        title = f"Solution, n = {self.z.shape[-1]}"
        if leading:
            columns = ["instance", *columns]
            title = f"{title}, {' x '.join(map(str, leading))} instances or states"
        title += seconds_text(self.seconds)
        return Table(title, columns, rows, math.prod(leading))

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


class SolveInterrupted(KeyboardInterrupt):
    """Interrupt of a search before its time limit, by Ctrl-C or `interrupt_solves`.

    This is not a `SolverError`: code that catches errors means to continue, and Ctrl-C means to
    stop. Some cases differ:

    *   After a second Ctrl-C, `solve` does not wait for the answer.
    *   A backend without time limits raises a plain `KeyboardInterrupt`. Its kernel finishes the
        current instance in a background thread.
    *   A linear program of `highs` and the presolve of `cp_sat` finish in a background thread, and
        the process ends after them.
    *   If your program handles Ctrl-C itself, your handler stays in place, and `solve` catches
        nothing.
    *   If the handler of another signal raises an exception in the main thread, the search of the
        main thread ends, and searches of other threads continue.

    Attributes:
        solution: the incumbent with its bound, as after a time limit. Without a state, `z` is -1
            and `score` is minus infinity.
    """

    def __init__(self, solution: Solution):
        self.solution = solution
        super().__init__("stopped; the result so far is this exception's `solution`")

    @property
    def found(self) -> bool:
        """Whether every instance of `solution` has a state."""
        return bool((to_numpy(self.solution.z) >= 0).all())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.solution,)
