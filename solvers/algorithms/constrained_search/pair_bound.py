"""Bound pairs of variables in groups by a sum over variables, with multipliers for each variable.

If z_i = 1, exactly one variable j of every group g has z_j = 1, so that for any number m_ig

    m_ig z_i = sum_{j in g} m_ig z_i z_j.

These equations move scores between pairs and their variables. What then remains of the pairs is at
most 0, and the variables carry the rest. This is the dual of the first level of the
reformulation-linearization technique. For an assignment problem the bound of Gilmore and Lawler is
one step of it, by exact assignments in place of soft maxima.

References:
    Gilmore (1962), Optimal and suboptimal algorithms for the quadratic assignment problem.
    Hahn, Grant (1998), Lower bounds for the quadratic assignment problem based upon a dual
    formulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...limits.deadline import Deadline, now
from ...problems.problem import EPSILON
from .groups import Groups

MOST_VARIABLES = 1500
"""Largest number of variables and slacks; a dense matrix holds all their pairs."""

MOST_SWEEPS = 320
"""Number of sweeps over all groups in unlimited time."""

FIRST_TEMPERATURE = 0.02
"""Temperature of the first sweep, in units of the mean magnitude of a pair."""

LAST_TEMPERATURE = 1e-4
"""Temperature of the last sweep, in the same unit."""

SETTLED = 0.01
"""Change of the bound by a sweep, in units of the temperature, below which it cools faster."""

FASTER = 10
"""Factor by which it then cools faster."""

PAIR_ROUNDS = 2
"""Steps over the groups of each variable in a sweep; the last one is without a temperature."""

FIELD_ROUNDS = 3
"""Steps over the groups of the field in a sweep."""


@dataclass(frozen=True, eq=False)
class PairBound:
    """An upper bound constant + sum_i field_i z_i on a score, and multipliers that suit it.

    Attributes:
        constant: of the sum.
        field: `[n]`.
        multiplier: `[g]`, a multiplier for the constraint of each group.
    """

    constant: float
    field: np.ndarray
    multiplier: np.ndarray


class PairAscent:
    """Ascent on the dual of a problem over groups, where every group has exactly one 1.

    A group with at most one 1 has one more variable, its slack. A variable outside all groups forms
    a group with a slack.

    Invariant: score(z) = constant + sum_i field_i z_i + sum_{i,j} share_ij z_i z_j for every z that
    has exactly one 1 in each group, up to rounding. `share` is -inf for pairs within a group.
    """

    def __init__(self, unary: np.ndarray, weights: np.ndarray, groups: Groups):
        """Prepare the ascent.

        Args:
            unary: `[n]`.
            weights: `[n, n]`, symmetric, with a zero diagonal.
            groups: groups of the n variables.
        """
        n = len(unary)
        # A variable in no group gets one of its own, with a slack, so that all are treated alike.
        alone = np.flatnonzero(~groups.member.any(axis=0))
        self._n = n
        self._given = len(groups)
        self._exact = np.append(groups.exact, np.zeros(len(alone), bool))
        self._with_slack = np.flatnonzero(~self._exact)
        size = n + len(self._with_slack)
        member = np.zeros((len(self._exact), size))
        member[: self._given, :n] = groups.member
        member[self._given + np.arange(len(alone)), alone] = 1
        member[self._with_slack, n + np.arange(len(self._with_slack))] = 1
        self._member = member
        self._unary = np.append(unary, np.zeros(size - n))
        self._weights = np.zeros((size, size))
        self._weights[:n, :n] = weights
        # Members of a group exclude each other, and every variable excludes itself as a partner.
        self._excluded = member.T @ member > 0
        self._families = _families(member > 0)
        # usable[i, g]: whether z_i = 1 leaves a choice in group g.
        self._usable = (~self._excluded).astype(np.float64) @ member.T > 0
        self._usable &= member.T == 0
        # Each end gets half of a pair; -inf keeps excluded pairs out of every maximum.
        self._share = np.where(self._excluded, -np.inf, self._weights / 2)
        self._field = self._unary.copy()
        self._pair_multiplier = np.zeros((size, len(member)))
        self._multiplier = np.zeros(len(member))
        # Temperatures are in units of the mean pair, so that scaling the scores changes nothing.
        shares = np.abs(self._weights[~self._excluded])
        shares = shares[shares > 0]
        self._scale = 0.0
        if len(shares):
            self._scale = float(shares.mean())

    @property
    def value(self) -> float:
        """The bound at the present multipliers, up to rounding."""
        return float(self._multiplier.sum())

    def run(self, deadline: Deadline, enough: float) -> None:
        """Lower the bound in sweeps at falling temperatures.

        Args:
            deadline: time at which the ascent ends; it also decides the number of sweeps.
            enough: a bound that needs no improvement.
        """
        # Without pairs there is nothing to anneal.
        if self._scale == 0.0:
            self._sweep(LAST_TEMPERATURE)
            return
        temperature = FIRST_TEMPERATURE * self._scale
        last = LAST_TEMPERATURE * self._scale
        begin = now()
        # The temperature falls fast enough for all sweeps, and for those that still fit. Each sweep
        # is timed, since a single one may take long on a busy machine.
        slowest = (LAST_TEMPERATURE / FIRST_TEMPERATURE) ** (1 / MOST_SWEEPS)
        self._sweep(temperature)
        sweeps = 1
        while temperature > last:
            before = self.value
            if deadline.passed or before <= enough:
                return
            fitting = deadline.left * sweeps / max(now() - begin, 1e-6)
            factor = min(slowest, (last / temperature) ** (1 / max(fitting, 1)))
            self._sweep(temperature)
            sweeps += 1
            # The temperature falls faster once it no longer lowers the bound.
            settled = before - self.value < SETTLED * temperature
            if settled:
                temperature *= factor**FASTER
            else:
                temperature *= factor

    def _sweep(self, temperature: float) -> None:
        """Move scores from pairs to variables, from variables to the bound, and the rest back."""
        for step in range(PAIR_ROUNDS):
            softness = temperature
            if step == PAIR_ROUNDS - 1:
                softness = 0.0
            for family in self._families:
                most = family.soft_maxima(self._share, softness)
                # If z_i = 1 leaves a group no choice, there is no pair to move.
                moved = np.where(self._usable[:, family.groups], most, 0.0)
                self._share[:, family.columns] -= family.spread(moved)
                self._pair_multiplier[:, family.groups] += moved
                self._field += moved.sum(axis=1)
        for step in range(FIELD_ROUNDS):
            softness = temperature
            if step == FIELD_ROUNDS - 1:
                softness = 0.0
            for family in self._families:
                most = family.soft_maxima(self._field[None], softness)
                self._field[family.columns] -= family.spread(most)[0]
                self._multiplier[family.groups] += most[0]
        # The rest goes back to the pairs, so that the next sweep can move it elsewhere.
        choices = self._usable.sum(axis=1)
        moved = self._field / np.maximum(choices, 1)
        moved = np.where(self._usable, moved[:, None], 0.0)
        self._pair_multiplier -= moved
        self._field -= moved.sum(axis=1)
        self._share += moved @ self._member
        # Only the sum of the two shares of a pair counts, so an even split changes nothing.
        self._share = (self._share + self._share.T) / 2

    def bound(self) -> PairBound:
        """Return the sum over variables that the present multipliers prove.

        Everything is computed again from the scores and the multipliers, which may be any numbers.
        Every value is raised by a bound on the rounding error of its sums.
        """
        size = len(self._unary)
        # Any split of w_ij between i and j is valid: one end gets a share and the other the rest.
        moved = self._pair_multiplier @ self._member
        above = np.triu(np.where(self._excluded, 0.0, self._share + moved), 1)
        split = above + np.tril(self._weights - above.T, -1)
        rest = np.where(self._excluded, 0.0, split - moved)
        # A sum of k rounded terms is off by at most about k EPSILON times the sum of their sizes.
        size_of_sums = np.abs(self._unary) + np.abs(self._pair_multiplier).sum(axis=1)
        size_of_sums += (np.abs(split) + np.abs(moved) + np.abs(self._weights)).sum(axis=1)
        slack = 8 * EPSILON * (size + len(self._member)) * size_of_sums
        field = self._unary + slack + self._pair_multiplier.sum(axis=1)
        # Only a positive rest can add to a score.
        field += np.maximum(rest, 0.0).sum(axis=1)
        # A slack is 1 - sum_{j in g} z_j: replace it by the variables of its group.
        constant = 0.0
        moved_constants = 0.0
        multiplier = self._multiplier.copy()
        for place, number in enumerate(self._with_slack.tolist()):
            worth = float(field[self._n + place])
            constant += worth
            moved_constants += abs(worth)
            # A group with a slack is a constraint <= 1, whose multiplier may not be negative.
            multiplier[number] = max(0.0, multiplier[number] - worth)
            members = np.flatnonzero(self._member[number, : self._n])
            field[members] += 2 * EPSILON * (np.abs(field[members]) + abs(worth))
            field[members] -= worth
        constant += 2 * EPSILON * len(self._with_slack) * moved_constants
        return PairBound(constant, field[: self._n], multiplier[: self._given])


@dataclass(frozen=True, eq=False)
class _Family:
    """Disjoint groups, whose maxima are taken at once.

    Attributes:
        groups: `[f]`, their numbers.
        columns: `[m]`, the members of the first group, then those of the second, and so on.
        starts: `[f]`, where the members of each group start.
        sizes: `[f]`, their number.
    """

    groups: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, groups: list[int], member: np.ndarray) -> _Family:
        """Return the family of disjoint rows of `member [g, n]`."""
        members = [np.flatnonzero(member[number]) for number in groups]
        sizes = np.array([len(columns) for columns in members])
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        return cls(np.array(groups), np.concatenate(members), starts, sizes)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return one column for each member from one for each group."""
        return np.repeat(values, self.sizes, axis=1)

    def soft_maxima(self, values: np.ndarray, temperature: float) -> np.ndarray:
        """Return T log sum_{j in g} exp(values_ij / T), `[rows, f]`; the maxima where T = 0."""
        inside = values[:, self.columns]
        most = np.maximum.reduceat(inside, self.starts, axis=1)
        if temperature == 0.0:
            return np.asarray(most)
        # The maximum is -inf where all of a group is excluded; -inf - (-inf) would be NaN.
        base = np.where(np.isfinite(most), most, 0.0)
        inside -= self.spread(base)
        inside /= temperature
        total = np.add.reduceat(np.exp(inside, out=inside), self.starts, axis=1)
        return np.asarray(base + temperature * np.log(np.maximum(total, 1e-300)))


def _families(member: np.ndarray) -> list[_Family]:
    """Return families of disjoint groups that together are all rows of `member [g, n]`."""
    families: list[list[int]] = []
    used: list[np.ndarray] = []
    for number, row in enumerate(member):
        # First fit. Disjoint groups share no variable, so a family can be updated at once.
        fitting = (k for k, columns in enumerate(used) if not (columns & row).any())
        place = next(fitting, len(families))
        if place == len(families):
            families.append([])
            used.append(np.zeros(member.shape[1], bool))
        families[place].append(number)
        used[place] |= row
    return [_Family.of(groups, member) for groups in families]
