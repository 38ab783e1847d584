"""Regions of label assignments in which some values are excluded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from ..arrays import Scores, States
from ..errors import InfeasibleError, SolveFailedError
from ..limits.progress import Known
from ..solving.exclusion import Exclusion
from ..solving.k_best.lawler import Region, lawler
from ..solving.listening import report_for_whole
from .fixing import LabelFixing
from .problem import LabelProblem

SEARCHED_TOGETHER = 1 << 14
"""Maximum number of unary scores of regions that are searched between checks of the time."""


class _Part(NamedTuple):
    """Assignments of a region that first differ from its best one in a given variable.

    Attributes:
        whole: `[n, k]`, bool: the values that the region allows.
        z: `[n]`, its best assignment.
        variable: the first variable that differs; -1 for the whole region.
    """

    whole: np.ndarray
    z: np.ndarray
    variable: int

    @property
    def allowed(self) -> np.ndarray:
        """The allowed values, `[n, k]`, bool, at least one of each variable."""
        if self.variable < 0:
            return self.whole
        before = np.arange(self.variable)
        i = self.variable
        allowed = self.whole.copy()
        allowed[before] = False
        allowed[before, self.z[before]] = True
        allowed[i, self.z[i]] = False
        return allowed


_LabelRegion: TypeAlias = Region[_Part]
"""A region by the part of a larger region that it is."""


class LabelRegions(Exclusion):
    """Split the region of an assignment by the first variable in which others differ from it."""

    def ranked(self, fixed: LabelFixing, count: int, number: int) -> tuple[States, np.ndarray]:
        """Return the best assignments `[count, n]` of an instance, and bounds `[count]`.

        The i-th bound holds for all assignments except those before the i-th.
        """
        problem = fixed.problem
        nothing = np.zeros(problem.n, np.int64)
        piece = _Part(problem.unary[0] > -math.inf, nothing, -1)
        whole = Region(nothing, -math.inf, math.inf, piece)
        with report_for_whole(problem, partial(Known._replace, rows=slice(number, number + 1))):
            first = self._searched(problem, whole, [piece])
        if not first:
            raise InfeasibleError()
        if first[0].score == -math.inf:
            raise SolveFailedError(
                f"no allowed assignment of instance {number} was found in the time; "
                "raise time_limit"
            )
        return lawler(first[0], count, partial(self._others, problem))

    def unsearched(
        self, fixed: LabelFixing, rows: np.ndarray, count: int
    ) -> tuple[States, np.ndarray]:
        """Return assignments `[rows, count, n]` for which there was no time, with bounds.

        The bounds are `[rows, count]`, on all assignments. The first assignment has the best unary
        score of each variable, and the others are one change away. If that is forbidden, a solver
        searches for an allowed assignment.
        """
        problem = fixed.problem.to_host().instances(rows)
        z = np.asarray(problem.unary).argmax(axis=2)
        states, scores = _nearest(problem, z, count)
        bounds = np.repeat(np.array(problem.trivial_bound)[:, None], count, axis=1)
        for place in np.flatnonzero(scores == -math.inf).tolist():
            b = int(rows[place])
            states[place], bounds[place] = self.ranked(fixed.instance(b), count, b)
        return states, bounds

    def _others(self, problem: LabelProblem, taken: _LabelRegion) -> Iterator[_LabelRegion]:
        """Yield parts by the first variable in which they differ from the region's assignment."""
        parts = list(_parts(taken))
        together = max(1, SEARCHED_TOGETHER // (problem.n * problem.k))
        for first in range(0, len(parts), together):
            some = parts[first : first + together]
            if self._is_over:
                yield from _unsearched(problem, taken, parts[first:])
                return
            yield from self._searched(problem, taken, some)

    def _searched(
        self, problem: LabelProblem, around: _LabelRegion, parts: list[_Part]
    ) -> list[_LabelRegion]:
        """Return parts of a region with their best assignments, without empty parts."""
        batch = problem.instances(np.zeros(len(parts), np.int64))
        allowed = np.stack([piece.allowed for piece in parts])
        batch = replace(batch, unary=np.where(allowed, batch.unary, -np.inf))
        try:
            best = self._best(batch)
        except InfeasibleError:
            if len(parts) > 1:
                return self._one_by_one(problem, around, parts)
            return []
        except SolveFailedError:
            if not self._may_have_missed(batch):
                raise
            if len(parts) > 1:
                return self._one_by_one(problem, around, parts)
            return _unsearched(problem, around, parts)
        # The state is proved up to rounding. Without this, roundings of sums of bounds would add
        # up.
        bounds = np.minimum(np.where(best.optimal, best.score, best.bound), around.bound)
        fields = zip(best.z, best.score.tolist(), bounds.tolist(), parts, strict=True)
        return [Region(*region) for region in fields]

    def _one_by_one(
        self, problem: LabelProblem, around: _LabelRegion, parts: list[_Part]
    ) -> list[_LabelRegion]:
        """Search each part separately, since at least one has no allowed assignment."""
        regions: list[_LabelRegion] = []
        for piece in parts:
            if self._is_over:
                regions += _unsearched(problem, around, [piece])
            else:
                regions += self._searched(problem, around, [piece])
        return regions


def _parts(taken: _LabelRegion) -> Iterator[_Part]:
    """Return the parts that contain all assignments of a region except its best one."""
    allowed = taken.values.allowed
    for i in np.flatnonzero(allowed.sum(axis=1) > 1).tolist():
        yield _Part(allowed, taken.z, i)


def _unsearched(
    problem: LabelProblem, around: _LabelRegion, parts: list[_Part]
) -> list[_LabelRegion]:
    """Return regions for parts of a region, without searching them.

    Each gets the bound of the whole region, and the assignment that is nearest to that of the
    region.

    If no assignment of the region is known, or all of the nearest are forbidden, no assignment of
    the part is known.
    """
    is_allowed = around.score > -math.inf
    changed = None
    if is_allowed:
        changed = _scores_of_changes(problem, around.z)
    bound = min(around.bound, float(problem.trivial_bound[0]))
    regions = []
    for piece in parts:
        z = around.z
        score = -math.inf
        i = piece.variable
        if changed is not None and i >= 0:
            values = np.where(piece.whole[i], changed[i], -math.inf)
            values[around.z[i]] = -math.inf
            z = around.z.copy()
            z[i] = values.argmax()
            score = float(values[z[i]])
        regions.append(Region(z, score, bound, piece))
    return regions


def _nearest(problem: LabelProblem, z: States, count: int) -> tuple[States, Scores]:
    """Return the best assignments `[batch, count, n]` within one change; -1 in missing rows.

    The given assignment comes first. Its scores `[batch]` are returned too.

    Args:
        problem: on the host.
        z: `[batch, n]`.
        count: number of assignments.
    """
    batch, n = z.shape
    scores = np.asarray(problem.score_flat(z), np.float64)
    states = np.full((batch, count, n), -1, z.dtype)
    states[:, 0] = z
    near = min(count - 1, n * problem.k)
    if near:
        changes = _gains_of_changes(problem, z).reshape(batch, -1)
        best = np.argsort(-changes, axis=1, kind="stable")[:, :near]
        allowed = np.take_along_axis(changes, best, axis=1) > -math.inf
        instance, place = np.nonzero(allowed & (scores > -math.inf)[:, None])
        variable, value = np.divmod(best[instance, place], problem.k)
        states[instance, 1 + place] = z[instance]
        states[instance, 1 + place, variable] = value
    return states, scores


def _gains_of_changes(problem: LabelProblem, z: States) -> np.ndarray:
    """Return the gains `[batch, n, k]` of each change of one value; minus infinity for no change.

    The assignments `[batch, n]` must be allowed; the gains of forbidden ones are meaningless.
    """
    rows = np.arange(len(z))
    scores = np.array(problem.unary, np.float64)
    for edge, (i, j) in enumerate(problem.topology.pairs.tolist()):
        shape = (len(z), int(problem.sizes[i]), int(problem.sizes[j]))
        table = np.broadcast_to(problem.pairwise(edge), shape)
        scores[:, i, : shape[1]] += table[rows, :, z[:, j]]
        scores[:, j, : shape[2]] += table[rows, z[:, i]]
    places = rows[:, None], np.arange(z.shape[1]), z
    current = scores[places]
    # The score of forbidden assignments is minus infinity; the caller handles them.
    gains = scores - np.where(current > -math.inf, current, 0.0)[:, :, None]
    gains[places] = -math.inf
    return np.asarray(gains)


def _scores_of_changes(problem: LabelProblem, z: np.ndarray) -> np.ndarray:
    """Return the scores `[n, k]` of an assignment `[n]` after each change of one value.

    The problem has a single instance.
    """
    scores = np.asarray(problem.unary[0], np.float64).copy()
    if problem.e:
        i, j = problem.topology.pairs.T
        tables = problem.tables[0].astype(np.float64)
        table_of = problem.table_of
        weights = 1.0
        if problem.weights is not None:
            weights = problem.weights[0].astype(np.float64)[:, None]
        np.add.at(scores, i, tables[table_of, :, z[j]] * weights)
        np.add.at(scores, j, tables[table_of, z[i]] * weights)
    unchanged = scores[np.arange(problem.n), z]
    return np.asarray(scores + (float(problem.score_flat(z[None])[0]) - unchanged)[:, None])
