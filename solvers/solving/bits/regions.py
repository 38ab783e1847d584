"""Regions of bit states in which some variables have fixed values."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from ...arrays import States
from ...problems.flips import flip_gains
from ...problems.problem import Problem
from ..exclusion import Exclusion
from ..k_best.lawler import Region, lawler
from ..listening import report_for_whole
from .fixing import Fixing

_BitRegion: TypeAlias = Region[np.ndarray]
"""A region by the values `[n]` of its fixed variables, -1 for a free variable."""


def _flipped(taken: _BitRegion, variable: int, values: np.ndarray, gain: float) -> _BitRegion:
    """Return a subregion that is not searched.

    Its state is the nearest one to that of the whole region. Its bound is that of the whole.
    """
    z = taken.z.copy()
    z[variable] = values[variable]
    return Region(z, taken.score + gain, taken.bound, values)


class BitRegions(Exclusion):
    """Split the region of a state by the first variable in which other states differ from it."""

    def ranked(self, fixed: Fixing, count: int, number: int) -> tuple[States, np.ndarray]:
        """Return the best states `[count, n]` of one instance of a batch, with bounds `[count]`.

        Each bound holds for all states except the ones before it.
        """
        rows = slice(number, number + 1)
        with report_for_whole(
            fixed.rest, lambda incumbent: fixed.known(incumbent)._replace(rows=rows)
        ):
            first = self._searched(fixed)
        return lawler(first, count, partial(self._others, fixed.problem))

    def unsearched(self, fixed: Fixing, rows: np.ndarray, count: int) -> tuple[States, np.ndarray]:
        """Return states `[rows, count, n]` for which there was no time, with bounds.

        The bounds are `[rows, count]`, on all states.
        """
        some = fixed.instances(rows)
        if some.rest is None:  # a single state
            return some.values[:, None], some.lifted(None).bound.reshape(-1, 1)
        z, bound = _presolve().unranked(some.rest, count)
        return some.whole(z), np.repeat(some.raised(bound)[:, None], count, axis=1)

    def _others(self, problem: Problem, taken: _BitRegion) -> Iterator[_BitRegion]:
        """Yield subregions by the first variable in which they differ from the region's state."""
        values = taken.values.copy()
        gains = None
        # Region i agrees with the state before i and differs
        # at i: disjoint regions that cover the rest.
        for i in np.flatnonzero(values < 0):
            values[i] = 1 - taken.z[i]
            if not self._is_over:
                region = self._searched(Fixing.of(problem, values.copy()))
                # The new region lies within the old one, whose bound holds for it too.
                yield replace(region, bound=min(region.bound, taken.bound))
            else:
                # If there is no time for a search, the state with that one flip represents the
                # region.
                if gains is None:
                    gains = flip_gains(problem, taken.z)
                yield _flipped(taken, int(i), values.copy(), float(gains[i]))
            values[i] = taken.z[i]

    def _searched(self, fixing: Fixing) -> _BitRegion:
        of_rest = None
        if fixing.rest is not None:
            of_rest = self._best(fixing.rest)
        whole = fixing.lifted(of_rest)
        score = float(np.ravel(whole.score)[0])
        # The state is proved up to rounding. Without this, roundings of sums of bounds would add
        # up.
        proved = bool(np.ravel(whole.optimal)[0])
        if proved:
            bound = score
        else:
            bound = float(np.ravel(whole.bound)[0])
        return Region(whole.z.reshape(-1), score, bound, fixing.values[0])


@cache
def _presolve() -> Any:
    """Return the module that gives states without a search; most calls do not need its kernels."""
    return importlib.import_module("...algorithms.presolve.ranked", __package__)
