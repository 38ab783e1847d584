"""Fix variables at values: build the problem of the free variables, and translate answers back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..arrays import ArrayLike, Scores, States, as_array, home_of, to_numpy
from ..errors import OptionError, ProblemError, shortened
from ..limits.progress import Known
from ..problems.problem import Problem
from ..problems.starts import over_batch
from ..problems.topology import Topology
from ..ranking import states_of
from ..solution import Solution

Fix: TypeAlias = Mapping[int, int] | ArrayLike
"""{variable: 0 or 1}, or `[n]` or `[..., n]` with -1 for a free variable."""

FREE = -1


@dataclass(frozen=True, eq=False)
class Fixing:
    """A problem in which some variables have fixed values.

    Attributes:
        problem: the whole problem, on the host.
        values: `[batch, n]` int8, -1 for a free variable; the same variables are free in every
            instance.
        constant: `[batch]`, the score of the fixed variables alone.
        rest: the problem of the free variables; None if all variables are fixed.
    """

    problem: Problem
    values: States
    constant: np.ndarray
    rest: Problem[np.ndarray] | None

    @classmethod
    def of(cls, problem: Problem, fix: Fix | None) -> Fixing:
        """Fix the variables of a problem that `fix` names.

        Raises:
            OptionError: `fix` names an unknown variable or value, or frees different variables in
                different instances.
        """
        problem = problem.to_host()
        if fix is None:
            nothing = np.full((problem.batch, problem.n), FREE, np.int8)
            return cls(
                problem, nothing, np.zeros(problem.batch), replace(problem, home=home_of(nothing))
            )
        values = _values_of(fix, problem)
        if not problem.batch:  # no first instance says which variables are free
            return cls.of(problem, None)
        free = values[0] < 0
        ones = np.where(values < 0, 0, values).astype(np.float64)
        unary, pairwise = (
            np.asarray(scores, np.float64) for scores in (problem.unary, problem.pairwise)
        )
        pairs = problem.topology.pairs
        fixed_scores = unary * ones
        constant = fixed_scores.sum(axis=1) + (
            pairwise * ones[:, pairs[:, 0]] * ones[:, pairs[:, 1]]
        ).sum(axis=1)
        if not free.any():
            return cls(problem, values, constant, None)
        # A fixed neighbour at 1 turns its pair into a unary score.
        folded = unary.copy()
        for here, there in ((0, 1), (1, 0)):
            np.add.at(folded.T, pairs[:, here], (pairwise * ones[:, pairs[:, there]]).T)
        inside = free[pairs].all(axis=1)
        number = np.cumsum(free) - 1
        rest = Problem(
            folded[:, free],
            np.ascontiguousarray(pairwise[:, inside]),
            Topology(int(free.sum()), number[pairs[inside]]),
            problem.leading,
            home_of(unary),
        )
        return cls(problem, values, constant, rest)

    def instance(self, number: int) -> Fixing:
        """Return one instance of the batch."""
        return self.instances(slice(number, number + 1))

    def instances(self, rows: slice | np.ndarray) -> Fixing:
        """Return some instances of the batch, by a slice or by their numbers."""
        rest = None
        if self.rest is not None:
            rest = self.rest.instances(rows)
        problem = replace(self.problem, home=home_of(self.values)).instances(rows)
        return Fixing(problem, self.values[rows], self.constant[rows], rest)

    def whole(self, z: States) -> States:
        """Return states `[batch, count, n]` of the whole problem, from states of the rest.

        `z` is `[batch, count, free]`.
        """
        states = np.repeat(self.values[:, None], z.shape[1], axis=1)
        states[:, :, self.values[0] < 0] = z
        return states

    def raised(self, bound: Scores) -> Scores:
        """Return bounds `[batch]` on the whole problem, from bounds on the rest."""
        return bound + self.constant + self.problem.rounding / 2

    def states(self, most: int) -> int:
        """Return the number of states of the rest, or `most` if that is less."""
        free = 0
        if self.rest is not None:
            free = self.rest.n
        return states_of(free, most)

    def free(self, z: States) -> States:
        """Return the values `[batch, free]` of the free variables in states `[batch, n]`."""
        return z[:, self.values[0] < 0]

    def known(self, incumbent: Known) -> Known:
        """Return the incumbent and bound of the whole problem, from those of the rest."""
        z, bound, rows = incumbent
        if z is not None:
            whole = self.values[rows].copy()
            whole[:, self.values[0] < 0] = z
            z = whole
        if bound is not None:
            # Half of the whole problem's rounding covers the rounding of folding.
            bound = bound + self.constant[rows] + self.problem.rounding[rows] / 2
        return Known(z, bound, rows)

    def lifted(self, solution: Solution[np.ndarray] | None) -> Solution:
        """Return the solution of the whole problem, from that of the rest (None without a rest).

        Its bound only holds for states with the fixed values.
        """
        problem = self.problem
        z = self.values.copy()
        bound = self.constant
        solver = "fixed"
        stats = {}
        optimal = np.ones(problem.batch, bool)
        if solution is not None:
            z[:, self.values[0] < 0] = solution.z.reshape(problem.batch, -1)
            # The rounding error of folding the fixed scores into the others, and of the last sum.
            bound = self.raised(np.ravel(solution.bound))
            optimal = np.ravel(solution.optimal)
            solver = solution.solver
            stats = dict(solution.stats)
        # The whole problem scores the state again, since sums in another order round differently.
        score = problem.score_flat(z)
        return Solution(
            z=problem.restore(z),
            score=problem.restore(score),
            optimal=problem.restore(optimal),
            bound=problem.restore(np.maximum(score, bound)),
            solver=solver,
            stats={**stats, "given": int((self.values[0] >= 0).sum())},
        )


def _values_of(fix: Fix, problem: Problem) -> States:
    """Return the fixed values, `[batch, n]` int8, -1 for a free variable."""
    n = problem.n
    if isinstance(fix, Mapping):
        values = np.full((problem.batch, n), FREE, np.int8)
        for variable, value in fix.items():
            if (
                isinstance(variable, bool)
                or not isinstance(variable, int | np.integer)
                or not 0 <= variable < n
            ):
                raise OptionError(
                    f"fix names the variable {shortened(variable)}; there are 0 to {n - 1}"
                )
            values[:, variable] = _bit(variable, value)
        return values
    try:
        array = to_numpy(as_array(fix, "fix"))
        states = over_batch("fix", array, (*problem.leading, n)).reshape(problem.batch, n)
    except (ProblemError, OptionError) as error:
        raise OptionError(
            f"fix must be {{variable: value}}, or [..., {n}] with -1 for a free variable; "
            f"got {shortened(fix)}"
        ) from error
    if states.dtype.kind not in "biuf" or not np.isin(states, (-1, 0, 1)).all():
        raise OptionError(f"fix must contain only -1, 0 and 1; got {shortened(fix)}")
    if ((states < 0) != (states[:1] < 0)).any():
        raise OptionError(
            "fix must free the same variables in every instance; solve the others separately"
        )
    return states.astype(np.int8)


def _bit(variable: object, value: object) -> int:
    if not isinstance(value, int | float | np.number | np.bool_) or value not in (0, 1):
        raise OptionError(
            f"fix gives the variable {shortened(variable)} the value {shortened(value)}; "
            "it is 0 or 1"
        )
    return int(value)
