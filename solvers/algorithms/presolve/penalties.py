"""Recognise penalties that exclude pairs, and solve with at-most-one constraints in their place.

A penalty such as -P (z_1 + z_2 + z_3 - 1)^2 makes pairs of variables exclude each other: where both
are 1, turning one of them off does not lower the score. Some maximiser then has at most one 1 in
every clique of such pairs. So the cliques become constraints, and their pairs leave the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ..constrained_search.linear_rows import Constraints
from ..precision.fixed_point import FixedPoint
from ..precision.units import to_units
from .constrained import SolveWithin, each_instance
from .one_by_one import SolveOne

LEAST_CLIQUE = 3
"""Smallest number of variables of a clique that counts as a penalty on a group."""

LEAST_COVERED = 0.5
"""Share of the variables in such cliques from which on constraints replace penalties."""

MOST_VARIABLES = 3000
"""Largest number of variables for which a matrix of excluded pairs is built."""

MOST_ENTRIES = 10**7
"""Largest number of entries of the matrix of constraints; cliques beyond it stay penalties."""

ROUNDED = 2
"""Units of `FixedPoint` by which a score may seem to rise through the rounding of coefficients."""

ROUNDS = 3
"""Maximum number of searches for pairs; each one uses the pairs before it."""

FEW_GROUPS = 2
"""Groups a variable up to which they describe a problem better than its pairs do.

Assignments, colourings and packings have fewer, random graphs more.
"""

MOST_PAIRS = 2**18
"""More pairs take too long to look at before a search begins."""


@dataclass(frozen=True, eq=False)
class Penalties:
    """At-most-one constraints that some maximiser satisfies.

    Attributes:
        matrix: `[c, n]`, 1 for the members of each group.
        low: `[c]`, zeros.
        high: `[c]`, ones.
        names: `[c]`.
        loss: how much better the best state can be than those that satisfy the constraints, which
            is 0 where scores are whole multiples of a unit.
    """

    matrix: Int[np.ndarray, "c n"]
    low: Int[np.ndarray, "c"]
    high: Int[np.ndarray, "c"]
    names: tuple[str, ...]
    loss: float

    @property
    def few(self) -> bool:
        """Whether there are so few groups that a search over constraints gains from them."""
        count, n = self.matrix.shape
        return bool(count <= FEW_GROUPS * n)


def penalties_of(problem: Problem) -> Penalties | None:
    """Return the groups of a single instance; None where they cover too few variables."""
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
    groups = _groups(scores, n, rounded)
    # Small cliques gain little over plain pairs; constraints pay only if large ones cover enough.
    large = groups[groups.sum(axis=1) >= LEAST_CLIQUE]
    if np.count_nonzero(large.any(axis=0)) < LEAST_COVERED * n:
        return None
    count = len(groups)
    return Penalties(
        groups.astype(np.int64),
        np.zeros(count, np.int64),
        np.ones(count, np.int64),
        tuple(f"penalty {number}" for number in range(count)),
        loss,
    )


def _groups(scores: FixedPoint, n: int, rounded: int) -> np.ndarray:
    """Return boolean rows `[groups, n]`: of each group some best state has at most one variable 1.

    Groups bound the gains of a variable, and smaller gains exclude more pairs, so a few rounds
    alternate.

    Args:
        scores: the problem in whole units.
        n: number of variables.
        rounded: how far sums may be wrong, in units.
    """
    unary = scores.unary[0]
    weights = scores.pairwise[0]
    i, j = scores.edges.T
    gains = _positive_sums(i, j, weights, n)
    excluded = np.zeros(len(weights), bool)
    groups = np.zeros((0, n), bool)
    for _ in range(ROUNDS):
        before = excluded
        # A variable that adds nothing even alone is 0 anyway: its pairs are no penalties, and
        # counting them would take dense problems for groups.
        most = unary + gains
        useful = (most[i] > rounded) & (most[j] > rounded)
        # With j at 1 as well, i adds at most unary_i + w_ij + gains_i. If that is not positive,
        # some best state has not both at 1.
        off_i = weights + most[i] <= rounded
        off_j = weights + most[j] <= rounded
        excluded = before | ((weights < 0) & useful & (off_i | off_j))
        if np.count_nonzero(excluded) < LEAST_COVERED * n or (excluded == before).all():
            break
        groups = _cliques(n, i[excluded], j[excluded])
        if excluded.all():
            break
        # A group has at most one 1, so fewer gains are possible; smaller gains exclude more pairs.
        gains = np.minimum(gains, _grouped_gains(groups, i, j, weights))
    return groups


def first_penalties(problem: Problem) -> Penalties | None:
    """Return the groups of the first instance of a batch; None where they cover too few variables.

    Instances of more than `MOST_PAIRS` pairs are not looked at.
    """
    if problem.e > MOST_PAIRS:
        return None
    if problem.batch == 1:
        first = problem
    else:
        first = problem.instances(slice(0, 1))
    return penalties_of(first.to_host())


def by_penalties(
    solve_one: SolveOne, solve_within: Callable[[Constraints], SolveWithin]
) -> SolveOne:
    """Return a search that solves an instance with penalties as one with constraints.

    Args:
        solve_one: the search for other instances.
        solve_within: makes the search for states that satisfy constraints.
    """

    def solve(
        problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        penalties = penalties_of(problem)
        if penalties is None:
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


def _positive_sums(i: np.ndarray, j: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Return for each variable the sum of its positive pairs, in whole numbers."""
    sums = np.zeros(n, np.int64)
    positive = np.maximum(weights, 0)
    np.add.at(sums, i, positive)
    np.add.at(sums, j, positive)
    return sums


def _grouped_gains(
    groups: Bool[np.ndarray, "c n"], i: np.ndarray, j: np.ndarray, weights: np.ndarray
) -> Int[np.ndarray, "n"]:
    """Return how much the pairs of each variable add at most if every group has at most one 1."""
    n = groups.shape[1]
    positive = np.zeros((n, n), np.int64)
    positive[i, j] = np.maximum(weights, 0)
    positive += positive.T
    gains = np.zeros(n, np.int64)
    rest = np.ones(n, bool)
    # Every member counts in one group alone; at most one member of it is 1, the best at most.
    for group in groups:
        members = np.flatnonzero(group & rest)
        if len(members):
            gains += positive[:, members].max(axis=1)
            rest[members] = False
    return np.asarray(gains + positive[:, rest].sum(axis=1))


def _cliques(n: int, i: np.ndarray, j: np.ndarray) -> Bool[np.ndarray, "c n"]:
    """Return cliques that together contain the pairs (i, j), grown greedily."""
    # 16 bits are enough for n, and rows of one type multiply without conversion.
    near = np.zeros((n, n), np.int16)
    near[i, j] = 1
    near[j, i] = 1
    open_pairs = near.copy()
    groups: list[np.ndarray] = []
    for first in range(n):
        while open_pairs[first].any() and (len(groups) + 1) * n <= MOST_ENTRIES:
            members = _clique(near, open_pairs, first)
            group = np.zeros(n, bool)
            group[members] = True
            # No pair inside the clique is open any more.
            open_pairs[members] *= ~group
            groups.append(group)
    return np.array(groups, bool).reshape(len(groups), n)


def _clique(near: np.ndarray, open_pairs: np.ndarray, first: int) -> list[int]:
    """Return the members of a clique with an open pair of a variable, which none extends.

    Args:
        near: `[n, n]`, 1 for the pairs.
        open_pairs: `[n, n]`, 1 for those that no clique contains yet.
        first: the variable.
    """
    members = [first]
    # Invariant: `common` marks the variables next to all members, and `fresh` is 1 more than the
    # number of a variable's open pairs with the members.
    common = near[first].copy()
    fresh = open_pairs[first] + np.int16(1)
    chosen = int((common * fresh).argmax())
    while common[chosen]:
        members.append(chosen)
        common *= near[chosen]
        fresh += open_pairs[chosen]
        chosen = int((common * fresh).argmax())
    return members
