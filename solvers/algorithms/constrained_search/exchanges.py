"""Tabu search among states that satisfy all constraints, by flips and exchanges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...limits.deadline import Deadline
from ...problems.problem import Problem
from .assignment import Assignment
from .groups import Groups
from .linear_rows import FREE, LinearRows

MOST_VARIABLES = 1500
"""Largest number of variables; a dense matrix holds their pairs."""

MOST_COMPARED = 4_000_000
"""Largest number of entries for which all exchanges of two variables are evaluated."""

PATIENCE = 3
"""Moves per variable without a better state after which the search restarts near the best one."""

LEAST_PATIENCE = 300
"""Least number of such moves."""

FILLED = 16
"""Greedy filling compares all variables again after adding one in this many that fit."""

KICKS = 4
"""Maximum number of random moves at a restart."""


def fits(problem: Problem, rows: LinearRows) -> bool:
    """Return whether the matrices of a search by exchanges are small enough."""
    n = problem.n
    return n <= MOST_VARIABLES and n * len(rows.low) <= MOST_COMPARED


class Move(NamedTuple):
    """A change that leaves all constraints satisfied.

    Attributes:
        gain: by how much the score rises.
        off: the variables that become 0.
        on: the variables that become 1.
    """

    gain: float
    off: tuple[int, ...]
    on: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Moves:
    """Moves of one form: their gains, whether a variable of theirs is tabu, and the variables.

    Attributes:
        gain: `[moves]`, -inf for moves that break a constraint.
        tabu: `[moves]`.
        off: `[moves, k]`, the variables that become 0.
        on: `[moves, l]`, the variables that become 1.
    """

    gain: np.ndarray
    tabu: np.ndarray
    off: np.ndarray
    on: np.ndarray

    def move(self, number: int) -> Move:
        """Return one of the moves."""
        off = tuple(self.off[number].tolist())
        on = tuple(self.on[number].tolist())
        return Move(float(self.gain[number]), off, on)


class Exchanges:
    """A walk over states that satisfy all constraints.

    A move flips one variable, or exchanges a 1 and a 0. In an assignment, a move also exchanges two
    1s for the two 0s that share their rows and columns.
    """

    def __init__(
        self,
        problem: Problem,
        rows: LinearRows,
        values: np.ndarray,
        generator: np.random.Generator,
    ):
        """Prepare the search of an instance.

        Args:
            problem: a single instance of at most `MOST_VARIABLES` variables.
            rows: its constraints.
            values: `[n]`, the values of fixed variables, -1 for free ones.
            generator: the generator of random numbers.
        """
        n = problem.n
        self._unary = np.asarray(problem.unary[0], np.float64)
        self._weights = np.zeros((n, n))
        self._weights[tuple(problem.topology.pairs.T)] = problem.pairwise[0]
        self._weights += self._weights.T
        # Dense rows: one comparison of arrays checks all moves; MOST_VARIABLES limits the memory.
        self._matrix = np.zeros((len(rows.low), n))
        self._matrix[rows.row, rows.column] = rows.weight
        self._low = rows.low.astype(np.float64)[:, None]
        self._high = rows.high.astype(np.float64)[:, None]
        self._free = values == FREE
        self._fixed = np.where(self._free, 0, values)
        self._generator = generator
        self._scale = float(np.abs(self._unary).sum() + np.abs(self._weights).sum())
        # For rows of zeros and ones the feasibility of all exchanges is a product of matrices.
        self._unit = ((self._matrix == 0) | (self._matrix == 1)).all(axis=1)
        groups = Groups.of(rows, values)
        self._table = Assignment.of(groups, self._free)
        self._others = np.setdiff1d(np.arange(len(rows.low)), groups.row)
        self._group = None
        if not len(self._others):
            self._group = _only_groups(groups)

    def run(self, begin: np.ndarray, moves: int, deadline: Deadline) -> np.ndarray:
        """Return the best state `[n]` of a walk.

        Args:
            begin: `[n]`, a state that satisfies the constraints.
            moves: maximum number of moves.
            deadline: time at which the search ends.
        """
        best = begin.astype(np.int8)
        self._start(best)
        best_score = self._score
        improved = 0
        patience = max(LEAST_PATIENCE, PATIENCE * len(begin))
        for step in range(moves):
            if deadline.passed:
                break
            # No better state for long: resume beside the
            # best one, so that the walk does not drift off.
            if step - improved > patience:
                self._start(best)
                self._kick()
                improved = step
            move = self._choice(best_score + 1e-12 * self._scale)
            if move is None:
                break
            self._make(move)
            # A gain within rounding is no progress; it would reset the patience forever.
            if self._score > best_score + 1e-12 * self._scale:
                best = self._z.astype(np.int8)
                best_score = self._score
                improved = step
        return best

    def filled(self, begin: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Return a state `[n]` with more variables, added greedily by their gain per use of limits.

        Args:
            begin: `[n]`, a state that satisfies the constraints.
            deadline: after it, the rest is filled in the order of the gains at that time.
        """
        self._start(begin)
        positive = np.maximum(self._matrix, 0.0)
        while True:
            late = deadline.passed
            least = self._low - self._activity
            most = self._high - self._activity
            allowed = ~((self._matrix < least) | (self._matrix > most)).any(axis=0)
            allowed &= self._free & ~self._z & (self._field > 0)
            if not allowed.any():
                return self._z.astype(np.int8)
            # The use of a variable: its share of the room that is left in every limit.
            used = (1.0 / np.maximum(most[:, 0], 1.0)) @ positive
            worth = np.where(allowed, self._field / (used + 1e-9), -np.inf)
            count = int(allowed.sum())
            order = np.argsort(-worth, kind="stable")[:count].tolist()
            if late:
                self._add(order)
                return self._z.astype(np.int8)
            # Gains and uses change little while few variables are added.
            self._add(order[: max(1, count // FILLED)])

    def assigned(self, deadline: Deadline) -> np.ndarray | None:
        """Return a state `[n]` that an assignment without pairs suggests; None for none.

        The pairs are replaced by their gains at a state, first for the mean of all
        assignments. The best assignment of such a sum is the next state, while states improve.

        Args:
            deadline: time at which the search ends.
        """
        if self._table is None:
            return None
        best = None
        best_score = -np.inf
        # In the mean of all assignments each cell of a row is 1 in one of as many states.
        cells = np.maximum(np.count_nonzero(self._table.variable >= 0, axis=1), 1)
        beside = np.where(self._free, 1.0 / cells[self._table.row], self._fixed)
        while not (deadline.passed and best is not None):
            suggested = self._table.best(self._unary + self._weights @ beside, deadline)
            if suggested is None:
                break
            beside = np.where(self._free, suggested.z, self._fixed).astype(np.float64)
            self._start(beside)
            if not self._score > best_score:
                break
            best = self._z.astype(np.int8)
            best_score = self._score
        return best

    def _add(self, order: list[int]) -> None:
        """Set variables to 1 in this order, where that raises the score and is allowed."""
        for i in order:
            after = self._activity + self._matrix[:, i : i + 1]
            if self._field[i] > 0 and ((after >= self._low) & (after <= self._high)).all():
                self._make(Move(float(self._field[i]), (), (i,)))

    def _start(self, z: np.ndarray) -> None:
        self._z = z.astype(bool)
        state = z.astype(np.float64)
        self._field = self._unary + self._weights @ state
        self._activity = (self._matrix @ state)[:, None]
        # With f = u + W z, half of z'(u + f) counts every pair once.
        self._score = float(state @ (self._unary + self._field)) / 2
        self._tabu_until = np.zeros(len(z), np.int64)
        self._clock = 0

    def _kick(self) -> None:
        """Make a few random moves."""
        for _ in range(int(self._generator.integers(2, KICKS + 1))):
            forms = [moves for moves in self._forms() if np.isfinite(moves.gain).any()]
            if not forms:
                return
            moves = forms[int(self._generator.integers(len(forms)))]
            number = int(self._generator.choice(np.flatnonzero(np.isfinite(moves.gain))))
            self._make(moves.move(number))

    def _choice(self, best: float) -> Move | None:
        """Return a move that beats `best`, else the best that is not tabu; None without moves."""
        chosen: Move | None = None
        chosen_gain = -np.inf
        for moves in self._forms():
            # Aspiration: a tabu move is allowed where it leads to a new best state.
            allowed = ~moves.tabu | (self._score + moves.gain > best)
            gain = np.where(allowed, moves.gain, -np.inf)
            if not len(gain):
                continue
            number = int(gain.argmax())
            if gain[number] > chosen_gain:
                chosen = moves.move(number)
                chosen_gain = chosen.gain
        if chosen is not None:
            return chosen
        for moves in self._forms():  # all moves are tabu
            if np.isfinite(moves.gain).any():
                return moves.move(int(moves.gain.argmax()))
        return None

    def _make(self, move: Move) -> None:
        """Change the state, and update all sums."""
        self._score += move.gain
        self._clock += 1
        for variables, change in ((move.off, -1.0), (move.on, 1.0)):
            for i in variables:
                self._z[i] = change > 0
                self._field += change * self._weights[i]
                self._activity += change * self._matrix[:, i : i + 1]
                # Random tenures keep the walk from cycling.
                tenure = int(self._generator.integers(3, 3 + max(4, len(self._z) // 8)))
                self._tabu_until[i] = self._clock + tenure

    def _forms(self) -> list[_Moves]:
        """Return all moves by their form."""
        is_tabu = self._tabu_until > self._clock
        ones = np.flatnonzero(self._z & self._free)
        forms: list[_Moves] = []
        if self._table is not None:
            forms.append(self._crossings(self._table, ones, is_tabu))
            # If every row and column needs exactly one 1, a
            # flip or a single exchange breaks two of them.
            if self._table.exact:
                return forms
        zeros = np.flatnonzero(~self._z & self._free)
        forms.extend(self._flips(ones, zeros, is_tabu))
        if self._group is not None:
            forms.append(self._swaps_within(self._group, ones, zeros, is_tabu))
            return forms
        # All pairs of a 1 and a 0 are compared in every general row: skip them where that is slow.
        general = int(np.count_nonzero(~self._unit)) + 4
        if len(ones) and len(zeros) and general * len(ones) * len(zeros) <= MOST_COMPARED:
            forms.append(self._swaps(ones, zeros, is_tabu))
        return forms

    def _flips(self, ones: np.ndarray, zeros: np.ndarray, is_tabu: np.ndarray) -> list[_Moves]:
        """Return the flips of single variables, from 1 to 0 and from 0 to 1."""
        direction = np.where(self._z, -1.0, 1.0)
        after = self._activity + self._matrix * direction
        feasible = ((after >= self._low) & (after <= self._high)).all(axis=0)
        gain = np.where(feasible, direction * self._field, -np.inf)
        off = np.zeros((len(zeros), 0), np.int64)
        on = np.zeros((len(ones), 0), np.int64)
        return [
            _Moves(gain[ones], is_tabu[ones], ones[:, None], on),
            _Moves(gain[zeros], is_tabu[zeros], off, zeros[:, None]),
        ]

    def _swaps_within(
        self, group: np.ndarray, ones: np.ndarray, zeros: np.ndarray, is_tabu: np.ndarray
    ) -> _Moves:
        """Return the exchanges of the 1 of each group for a 0 of the group."""
        holder = np.full(len(self._z) + 1, -1)
        holder[group[ones]] = ones
        holder[-1] = -1  # variables outside all groups
        off = holder[group[zeros]]
        on = zeros[off >= 0]
        off = off[off >= 0]
        gain = self._field[on] - self._field[off] - self._weights[off, on]
        return _Moves(gain, is_tabu[off] | is_tabu[on], off[:, None], on[:, None])

    def _swaps(self, ones: np.ndarray, zeros: np.ndarray, is_tabu: np.ndarray) -> _Moves:
        """Return the exchanges of a 1 and a 0."""
        unit = self._matrix[self._unit]
        at_one = unit[:, ones]
        at_zero = unit[:, zeros]
        # A count rises by one where the 0 has it and the 1 does not, and falls the other way.
        full = (self._activity >= self._high)[self._unit]
        least = (self._activity <= self._low)[self._unit]
        broken = ((1 - at_one) * full).T @ at_zero + (at_one * least).T @ (1 - at_zero)
        feasible = broken == 0
        for number in np.flatnonzero(~self._unit):
            row = self._matrix[number]
            after = self._activity[number] - row[ones][:, None] + row[zeros]
            feasible &= (after >= self._low[number]) & (after <= self._high[number])
        gain = self._field[zeros] - self._field[ones][:, None] - self._weights[np.ix_(ones, zeros)]
        gain = np.where(feasible, gain, -np.inf).ravel()
        tabu = (is_tabu[ones][:, None] | is_tabu[zeros]).ravel()
        off = np.repeat(ones, len(zeros))[:, None]
        on = np.tile(zeros, len(ones))[:, None]
        return _Moves(gain, tabu, off, on)

    def _crossings(self, table: Assignment, ones: np.ndarray, is_tabu: np.ndarray) -> _Moves:
        """Return the exchanges of two 1s for the two 0s that share their rows and columns."""
        first, second = np.triu_indices(len(ones), 1)
        off_1 = ones[first]
        off_2 = ones[second]
        on_1 = table.variable[table.row[off_1], table.column[off_2]]
        on_2 = table.variable[table.row[off_2], table.column[off_1]]
        # A crossing without a free variable has the number -1.
        feasible = (on_1 >= 0) & (on_2 >= 0)
        # Crossings keep every row and column of the table; only the other constraints can break.
        for number in self._others:
            row = self._matrix[number]
            after = self._activity[number] + row[on_1] + row[on_2] - row[off_1] - row[off_2]
            feasible &= (after >= self._low[number]) & (after <= self._high[number])
        field = self._field
        weights = self._weights
        # The fields count pairs among the four variables as they are now, hence the corrections.
        gain = field[on_1] + field[on_2] - field[off_1] - field[off_2]
        gain += weights[off_1, off_2] + weights[on_1, on_2]
        gain -= weights[off_1, on_1] + weights[off_1, on_2]
        gain -= weights[off_2, on_1] + weights[off_2, on_2]
        gain = np.where(feasible, gain, -np.inf)
        tabu = is_tabu[on_1] | is_tabu[on_2]
        return _Moves(gain, tabu, np.stack((off_1, off_2), axis=1), np.stack((on_1, on_2), axis=1))


def _only_groups(groups: Groups) -> np.ndarray | None:
    """Return the group `[n]` of each variable, -1 for none; None if one is in several groups."""
    if (groups.member.sum(axis=0) > 1).any():
        return None
    number = 0
    if len(groups):
        number = groups.member.argmax(axis=0)
    return np.asarray(np.where(groups.member.any(axis=0), number, -1))
