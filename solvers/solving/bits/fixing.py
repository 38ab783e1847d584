"""Fix variables at values: build the problem of the free variables, and translate answers back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Scores, States, home_of
from ...limits.progress import Known
from ...problems.fixed_values import FREE, Fix, values_of
from ...problems.problem import Problem
from ...problems.topology import Topology
from ...ranking import states_of
from ...solution import Solution
from ..fixed import Fixed


@dataclass(frozen=True, eq=False)
class Fixing(Fixed[Problem]):
    """A problem in which some variables have fixed values.

    If only some instances fix a variable, it stays in `rest`. In these instances it has neither a
    score nor a coupling there, so its value in a state of `rest` has no effect.

    Attributes:
        problem: the whole problem, on the host.
        rest: the problem of the variables that are free in some instance; None if there are none.
        values: `[batch, n]` int8, -1 for a free variable.
        constant: `[batch]`, the score of the fixed variables alone.
        places: `[free]`, the numbers of these variables in `problem`.
    """

    values: States
    constant: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, problem: Problem, fix: Fix | None) -> Fixing:
        """Fix the variables of a problem that `fix` names.

        Raises:
            OptionError: `fix` names no variable of the problem, or a value that it does not have.
        """
        problem = problem.to_host()
        if fix is None:
            nothing = np.full((problem.batch, problem.n), FREE, np.int8)
            rest = replace(problem, home=home_of(nothing))
            return cls(problem, rest, nothing, np.zeros(problem.batch), np.arange(problem.n))
        values = values_of(problem, fix).astype(np.int8)
        if not problem.batch:  # no instance fixes a variable
            return cls.of(problem, None)
        is_fixed = values != FREE
        ones = np.where(is_fixed, values, 0).astype(np.float64)
        constant = problem.score_flat(ones)
        places = np.flatnonzero(~is_fixed.all(axis=0))
        if not len(places):
            return cls(problem, None, values, constant, places)
        rest = _without_fixed(problem, is_fixed, ones)
        return cls(problem, rest, values, constant, places)

    def instance(self, number: int) -> Fixing:
        """Return one instance of the batch."""
        return self.instances(slice(number, number + 1))

    def instances(self, rows: slice | np.ndarray) -> Fixing:
        """Return some instances of the batch, by a slice or by their numbers."""
        rest = None
        if self.rest is not None:
            rest = self.rest.instances(rows)
        problem = replace(self.problem, home=home_of(self.values)).instances(rows)
        return Fixing(problem, rest, self.values[rows], self.constant[rows], self.places)

    def whole(self, z: States) -> States:
        """Return states `[batch, count, n]` of the whole problem, from states of the rest.

        `z` is `[batch, count, free]`.
        """
        return self._filled(self.values[:, None], z)

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
        """Return the values `[batch, free]` of the variables of `rest` in states `[batch, n]`."""
        return z[:, self.places]

    def known(self, incumbent: Known) -> Known:
        """Return the incumbent and bound of the whole problem, from those of the rest."""
        z, bound, rows = incumbent
        if z is not None:
            z = self._filled(self.values[rows], z)
        if bound is not None:
            # Half of the whole problem's rounding covers the rounding of folding.
            bound = bound + self.constant[rows] + self.problem.rounding[rows] / 2
        return Known(z, bound, rows)

    def lifted(self, solution: Solution[np.ndarray] | None) -> Solution:
        """Return the solution of the whole problem, from that of the rest (None without a rest).

        Its bound only holds for states with the fixed values.
        """
        problem = self.problem
        z = self.values
        removed = problem.n
        bound = self.constant
        solver = "fixed"
        stats = {}
        optimal = np.ones(problem.batch, bool)
        if solution is not None:
            z = self._filled(self.values, solution.z.reshape(problem.batch, -1))
            removed -= len(self.places)
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
            stats={**stats, "given": removed},
        )

    def _filled(self, values: States, z: States) -> States:
        """Return whole states `[..., n]`, from values to fix and from states `[..., free]`."""
        states = np.empty((*z.shape[:-1], self.problem.n), np.int8)
        states[..., self.places] = z
        return np.where(values == FREE, states, values)


def _without_fixed(problem: Problem, is_fixed: np.ndarray, ones: np.ndarray) -> Problem[np.ndarray]:
    """Return the problem of the variables that are free in some instance.

    Args:
        problem: the whole problem, on the host.
        is_fixed: `[batch, n]`, whether an instance fixes a variable.
        ones: `[batch, n]` float64, the fixed values, and 0 for a free variable.
    """
    unary, pairwise = (
        np.asarray(scores, np.float64) for scores in (problem.unary, problem.pairwise)
    )
    pairs = problem.topology.pairs
    # A fixed neighbour at 1 turns its pair into a unary score.
    folded = unary.copy()
    for here, there in ((0, 1), (1, 0)):
        np.add.at(folded.T, pairs[:, here], (pairwise * ones[:, pairs[:, there]]).T)
    folded[is_fixed] = 0.0
    stays = np.asarray((~is_fixed).any(axis=0))
    inside = stays[pairs].all(axis=1)
    number = np.cumsum(stays) - 1
    first, second = pairs[inside].T
    is_coupled = ~(is_fixed[:, first] | is_fixed[:, second])
    return Problem(
        folded[:, stays],
        np.where(is_coupled, pairwise[:, inside], 0.0),
        Topology(int(stays.sum()), number[pairs[inside]]),
        problem.leading,
        home_of(unary),
    )
