"""Recognise penalties that exclude pairs, and solve with at-most-one constraints in their place.

A penalty such as -P (z_1 + z_2 + z_3 - 1)^2 makes pairs of variables exclude each other: where both
are 1, turning one of them off does not lower the score. Some maximiser then has at most one 1 in
every clique of such pairs. So the cliques become constraints, and their pairs leave the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiled._kernels import presolve as kernels
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ..constrained_search.linear_rows import Constraints
from ..precision.fixed_point import FixedPoint
from ..precision.units import to_units
from .constrained import SolveWithin, each_instance
from .one_by_one import SolveOne

if TYPE_CHECKING:
    from jaxtyping import Int, UInt8

LEAST_CLIQUE = 3
"""Smallest number of variables of a clique that counts as a penalty on a group."""

LEAST_COVERED = 0.5
"""Share of the variables in such cliques from which on constraints replace penalties."""

MOST_VARIABLES = 3000
"""Largest number of variables of a problem that is searched for penalties."""

MOST_ENTRIES = 10**7
"""Largest number of entries of the matrix of constraints; cliques beyond it stay penalties."""

ROUNDED = 2
"""Units of `FixedPoint` by which a score may seem to rise through the rounding of coefficients."""

ROUNDS = 3
"""Maximum number of searches for pairs; each one uses the groups before it."""

FEW_GROUPS = 2
"""Number of groups per variable up to which groups describe a problem better than its pairs do.

Assignments, colourings and packings have fewer, random graphs more.
"""

MOST_PAIRS = 2**18
"""Maximum number of pairs that are examined before a search begins."""


@dataclass(frozen=True, eq=False)
class Penalties:
    """At-most-one constraints that some maximiser satisfies.

    Attributes:
        n: number of variables.
        starts: `[c + 1]`, where the members of each group begin and end in `members`.
        members: `[entries]`, the variables of the groups.
        loss: by how much the best state can exceed the states that satisfy the constraints; 0 if
            scores are whole multiples of a unit.
    """

    n: int
    starts: Int[np.ndarray, "c+1"]
    members: Int[np.ndarray, "entries"]
    loss: float

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    @property
    def few(self) -> bool:
        """Whether there are so few groups that a search over constraints gains from them."""
        return self.count <= FEW_GROUPS * self.n

    @cached_property
    def matrix(self) -> Int[np.ndarray, "c n"]:
        """`[c, n]`, 1 for the members of each group."""
        matrix = np.zeros((self.count, self.n), np.int64)
        matrix[np.repeat(np.arange(self.count), np.diff(self.starts)), self.members] = 1
        return matrix

    @property
    def low(self) -> Int[np.ndarray, "c"]:
        """`[c]`, zeros."""
        return np.zeros(self.count, np.int64)

    @property
    def high(self) -> Int[np.ndarray, "c"]:
        """`[c]`, ones."""
        return np.ones(self.count, np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """The names `[c]` of the groups in messages."""
        return tuple(f"penalty {number}" for number in range(self.count))


def penalties_of(problem: Problem) -> Penalties | None:
    """Return the groups of a single instance; None if they cover too few variables."""
    n = problem.n
    if not 2 < n <= MOST_VARIABLES or not problem.e:
        return None
    scores = FixedPoint.of(problem)
    coefficients = np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64)
    units = to_units(coefficients)
    exact = units.common and units.error == 0.0 and scores.error[0] == 0.0
    # In rounded units, a comparison holds up to ROUNDED, and `loss` makes up for it.
    rounded = 0
    loss = 0.0
    if not exact:
        rounded = ROUNDED
        loss = float(scores.unit[0]) * ROUNDED * n + 2 * float(scores.error[0])
    starts, members = kernels.exclusive_groups(
        np.ascontiguousarray(scores.edges, np.int64),
        scores.unary[0],
        scores.pairwise[0],
        rounded,
        math.ceil(LEAST_COVERED * n),
        ROUNDS,
        MOST_ENTRIES // n,
    )
    # Small cliques gain little over plain pairs; constraints pay only if large ones cover enough.
    sizes = np.diff(starts)
    covered = np.zeros(n, bool)
    covered[members[np.repeat(sizes >= LEAST_CLIQUE, sizes)]] = True
    if np.count_nonzero(covered) < LEAST_COVERED * n:
        return None
    return Penalties(n, starts, members, loss)


def first_penalties(problem: Problem) -> Penalties | None:
    """Return the groups of the first instance of a batch; None if they cover too few variables.

    Instances of more than `MOST_PAIRS` pairs are not examined.
    """
    if problem.e > MOST_PAIRS:
        return None
    if problem.batch == 1:
        first = problem
    else:
        first = problem.instances(slice(0, 1))
    return penalties_of(first.to_host())


def excluded_pairs(scores: FixedPoint) -> UInt8[np.ndarray, "e"]:
    """Return for each pair of one instance whether one end gains nothing beside the other.

    Some best state has no such pair at 1. This holds exactly for the scores in whole units.
    """
    return np.asarray(
        kernels.excluded_pairs(
            np.ascontiguousarray(scores.edges, np.int64), scores.unary[0], scores.pairwise[0]
        )
    )


class Exclusions(NamedTuple):
    """The pairs of one instance that exclude each other.

    Attributes:
        pairs: `[e]`, whether some best state has no such pair at `value`, for all of them at once.
        value: 1, as in an independent set, or 0, as in a vertex cover.
    """

    pairs: UInt8[np.ndarray, "e"]
    value: int


def exclusions(scores: FixedPoint) -> Exclusions:
    """Return the pairs of one instance that exclude each other at 1, or at 0 if those are more."""
    at_one = excluded_pairs(scores)
    at_zero = excluded_pairs(scores.flipped()[0])
    if np.count_nonzero(at_zero) > np.count_nonzero(at_one):
        return Exclusions(at_zero, 0)
    return Exclusions(at_one, 1)


def by_penalties(
    solve_one: SolveOne,
    solve_within: Callable[[Constraints], SolveWithin],
    most_groups: float = math.inf,
) -> SolveOne:
    """Return a search that solves an instance with penalties as one with constraints.

    Args:
        solve_one: the search for other instances.
        solve_within: makes the search for states that satisfy constraints.
        most_groups: penalties of more groups stay in the score.
    """

    def solve(
        problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        penalties = penalties_of(problem)
        if penalties is None or penalties.count > most_groups:
            return solve_one(problem, deadline, start)
        states = None
        if start is not None:
            states = start[None]
        answer = each_instance(problem, penalties, deadline, solve_within(penalties), states)
        # A state that the penalties forbid may score more
        # than the best allowed one, by `loss` at most.
        bound = float(np.asarray(answer.bound)[0]) + penalties.loss
        z = np.asarray(answer.z)[0]
        if start is not None and problem.score_flat(start[None]) > problem.score_flat(z[None]):
            z = start
        return z, bound

    return solve
