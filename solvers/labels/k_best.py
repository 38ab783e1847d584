"""The labels of highest score, in order, with a proof that no others lie between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ..arrays import States, home_of
from ..errors import InfeasibleError, OptionError, SolveFailedError
from ..limits.deadline import Deadline
from ..limits.progress import Known
from ..solution import Solution, SolveInterrupted
from ..solving.k_best import check_count, in_order
from ..solving.lawler import lawler
from ..solving.listening import heard_of
from .problem import LabelProblem
from .solver import LabelSolver

BITS = 64
"""So many have more states than anybody asks for: how many labels have, is known here."""

SEARCHED_TOGETHER = 1 << 14
"""Unary scores of the regions between which nobody looks at the clock."""

Choose: TypeAlias = Callable[[LabelProblem], LabelSolver]
"""The solver for a problem of which some values may be forbidden."""


def k_best(problem: LabelProblem, count: Any, choose: Choose, time_limit: float | None) -> Solution:
    """The `count` best assignments of every instance, their scores in falling order.

    Args:
        problem: what to solve.
        count: how many.
        choose: the solver of a problem.
        time_limit: seconds for the whole batch.

    Returns:
        Arrays with one more dimension `count` behind the leading ones. `bound[..., m]` is one on all assignments but
        the first m, and `optimal[..., m]` whether none of these scores more than assignment m.

    Raises:
        OptionError: `count` is no whole number from 1, or there are fewer assignments that are allowed.
        InfeasibleError: every assignment of an instance is forbidden.
        SolveFailedError: fewer were found in time.
        SolveInterrupted: Ctrl-C; it has those that were found, if they are enough.
    """
    host = problem.to_host()
    count = _checked(count, host)
    search = _Exclusion(choose, Deadline.after(time_limit))
    here = replace(host, home=home_of(host.unary))  # answers of searches stay on the host
    ranked = [search.ranked(here.instances(slice(b, b + 1)), count, b) for b in range(host.batch)]
    states, bounds = (np.stack(part) for part in zip(*ranked, strict=True))
    solution = in_order(host, states, bounds, choose(host), lambda z: np.asarray(host.score_flat(z)))
    if search.interrupted:
        raise SolveInterrupted(solution)
    return solution


def _checked(count: Any, problem: LabelProblem) -> int:
    wanted = check_count(count, BITS)
    if (states := int(problem.states)) < wanted:
        raise OptionError(f"k_best = {wanted}, and there are {states} assignments; ask for fewer")
    return wanted


@dataclass(frozen=True, eq=False)
class _Region:
    """The assignments of some values, and the best that is known of them.

    Attributes:
        z: `[n]`.
        score: of it; minus infinity where it is forbidden, and no allowed one is known.
        bound: on the scores of the region.
        allowed: `[n, k]`, bool.
    """

    z: np.ndarray
    score: float
    bound: float
    allowed: np.ndarray


@dataclass(eq=False)
class _Exclusion:
    """The region of an assignment that is taken falls into those that differ from it, in the first variable or later.

    Attributes:
        choose: the solver of a problem.
        deadline: after which regions are not searched.
        interrupted: whether Ctrl-C ended a search.
    """

    choose: Choose
    deadline: Deadline
    interrupted: bool = False

    def ranked(self, problem: LabelProblem, count: int, number: int) -> tuple[States, np.ndarray]:
        """Assignments `[count, n]` of an instance of a batch, and bounds `[count]` on all but those before each."""
        values = np.arange(problem.k) < np.asarray(problem.sizes)[:, None]
        part = slice(number, number + 1)
        with heard_of(problem, partial(Known._replace, part=part)):
            found = self._solved(problem, problem, [values], math.inf)
        if not found:
            raise InfeasibleError()
        states, bounds = lawler(found[0], count, partial(self._others, problem))
        scores = problem.instances(np.zeros(len(states), np.int64)).score_flat(states)
        if (known := int(np.count_nonzero(scores > -np.inf))) < count:
            if self.deadline.passed:
                raise SolveFailedError(
                    f"{known} of {count} assignments were found in the time; ask for fewer"
                )
            raise OptionError(f"k_best = {count}, and {known} assignments are allowed; ask for fewer")
        return states, bounds

    def _others(self, problem: LabelProblem, taken: _Region) -> Iterator[_Region]:
        """By the first variable in which they differ from the assignment of the region."""
        allowed, parts = taken.allowed.copy(), []
        for i, value in enumerate(taken.z if taken.score > -math.inf else ()):
            if allowed[i].sum() > 1:
                part = allowed.copy()
                part[i, value] = False
                parts.append(part)
            allowed[i] = False
            allowed[i, value] = True
        yield from self._searched(problem, parts, taken.bound)

    def _searched(self, problem: LabelProblem, parts: list[np.ndarray], bound: float) -> list[_Region]:
        """Regions `[n, k]` with their best assignments, in parts of a batch; those without any are left out."""
        together, regions = max(1, SEARCHED_TOGETHER // (problem.n * problem.k)), []
        for first in range(0, len(parts), together):
            some = parts[first : first + together]
            if self.deadline.passed and bound < math.inf:
                regions += [self._unsearched(problem, part, bound) for part in some]
                continue
            batch = problem.instances(np.zeros(len(some), np.int64))
            batch = replace(batch, unary=np.where(np.stack(some), batch.unary, -np.inf))
            regions += self._solved(problem, batch, some, bound)
        return regions

    def _solved(
        self, problem: LabelProblem, batch: LabelProblem, parts: list[np.ndarray], bound: float
    ) -> list[_Region]:
        solver = self.choose(batch)
        try:
            found = solver.solve(batch, self.deadline.seconds if solver.capabilities.time_limit else None)
        except SolveInterrupted as stopped:
            if not stopped.found:
                raise
            found, self.interrupted = stopped.solution, True
        except (InfeasibleError, SolveFailedError) as error:
            if len(parts) > 1:
                return [region for part in parts for region in self._searched(problem, [part], bound)]
            return [] if isinstance(error, InfeasibleError) else [self._unsearched(problem, parts[0], bound)]
        # Proved up to rounding: that of sums of bounds would add up.
        bounds = np.minimum(np.where(found.optimal, found.score, found.bound), bound)
        known = zip(found.z, found.score.tolist(), bounds.tolist(), parts, strict=True)
        return [_Region(*region) for region in known]

    def _unsearched(self, problem: LabelProblem, part: np.ndarray, bound: float) -> _Region:
        """A region with the values of highest scores of their own, which may be forbidden together."""
        z = np.where(part, problem.unary[0], -np.inf).argmax(axis=1)
        return _Region(z, float(problem.score_flat(z[None])[0]), bound, part)
