"""Answers of problems over bits to the front end."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Scores, States
from ...constraint_rows import Rows
from ...limits.deadline import Deadline
from ...problems.fixed_values import FREE, Fix, values_of
from ...problems.problem import Problem
from ...ranking import Ranked, ranked_states
from ...solver import ArgmaxSolver, score_states
from ..exclusion import Choose
from ..kinds import Kind, Selection
from .fixing import Fixing
from .regions import BitRegions
from .selection import (
    ENUMERABLE,
    is_known_tree_like,
    select_bits,
    select_ranking,
    select_within,
)

MOST_SWAPPED = 60
"""Maximum number of ones, and of zeros, that neighbours of a state swap."""


class Bits(Kind[Problem]):
    """Kind of the problems over bits."""

    name = "bits"
    state_type = np.int8

    def is_chosen_at_once(self, problem: Problem) -> bool:
        """Return whether all states are tried, or the graph is known to be like a tree."""
        return problem.n <= ENUMERABLE or is_known_tree_like(problem)

    def select(self, problem: Problem) -> Selection[ArgmaxSolver]:
        """Return the solver that `auto` uses for a problem."""
        return select_bits(problem)

    def select_ranking(self, problem: Problem) -> Selection[ArgmaxSolver]:
        """Return the solver that `auto` uses for several of the best states of a problem."""
        return select_ranking(problem)

    def select_within(self, problem: Problem, rows: Rows, count: int) -> Selection[ArgmaxSolver]:
        """Return the solver that `auto` uses for the best states that satisfy constraints."""
        return select_within(problem, rows, count)

    def fixed(self, problem: Problem, fix: Fix | None) -> Fixing:
        """Return the problem of the free variables, which translates its states back."""
        return Fixing.of(problem, fix)

    def score(self, problem: Problem, z: States) -> Scores:
        """Return the scores `[batch]` of states of a problem on the host."""
        return score_states(problem, z)

    def first(self, problem: Problem, fix: Fix | None, states: States | None) -> States:
        """Return the states to start from, or zeros, with the fixed values."""
        if states is None:
            first = np.zeros((problem.batch, problem.n), np.int8)
        else:
            first = states
        if fix is None:
            return first
        values = values_of(problem, fix)
        return np.where(values == FREE, first, values).astype(np.int8)

    def rows(self, constraints: Any, problem: Problem) -> Rows:
        """Return constraints over the variables of a problem."""
        return Rows.of(constraints, problem.n)

    def within(self, problem: Problem, rows: Rows, fix: Fix | None) -> tuple[Problem, Rows]:
        """Return the constraints, and equations that keep fixed variables at their values."""
        if fix is None:
            return problem, rows
        return problem, rows.with_values(values_of(problem, fix)[0])

    def groups(self, problem: Problem, fix: Fix, has_rows: bool) -> list[np.ndarray]:
        """Return the instances that fix the same variables, at the same values for constraints."""
        values = values_of(problem, fix)
        alike = values
        if not has_rows:
            alike = values == FREE
        if (alike == alike[:1]).all():
            return [np.arange(problem.batch)]
        _, group = np.unique(alike, axis=0, return_inverse=True)
        return [np.flatnonzero(group == number) for number in range(group.max() + 1)]

    def neighbours(self, problem: Problem, z: np.ndarray) -> States:
        """Return the states `[others, n]` that are one flip, or one swap of a 0 and a 1, away."""
        ones = np.flatnonzero(z)[:MOST_SWAPPED]
        zeros = np.flatnonzero(z == 0)[:MOST_SWAPPED]
        # A swap keeps the number of ones, which constraints often fix.
        pairs = np.stack(np.meshgrid(ones, zeros), axis=-1).reshape(-1, 2)
        others = np.repeat(z[None], len(z) + len(pairs), axis=0)
        others[np.arange(len(z)), np.arange(len(z))] ^= 1
        for end in pairs.T:
            others[len(z) + np.arange(len(pairs)), end] ^= 1
        return others

    def ranked(
        self, solver: ArgmaxSolver, problem: Problem, count: int, deadline: Deadline | None
    ) -> Ranked | None:
        """Return several states that a solver finds at once; None where it finds one alone."""
        return ranked_states(solver, problem, count, deadline)

    def exclusion(self, choose: Choose, deadline: Deadline) -> BitRegions:
        """Return the search that excludes one state after the other by fixing variables."""
        return BitRegions(choose, deadline)


BITS = Bits()
