"""Dynamic programming over a frontier, which keeps only what a certificate allows.

Partial cuts that agree on the frontier form one state, of which the best one counts. A state is
dropped when its bound is below the required weight. So either no state remains at the end, which
proves that no cut has that weight, or the best remaining one is a heaviest cut.

References:
    Morin, Marsten (1976), Branch-and-bound strategies for dynamic programming.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...compiled._kernels import cycle_cuts as kernels
from ...limits.deadline import Deadline
from ...limits.memory import free_memory, turn_of
from .frontier import Steps

MOST_STATES = 1 << 23
"""Largest number of states as keys and bounds at a time; they take up to 1 GiB."""

MOST_TRACED = 1 << 26
"""Largest number of states of all steps for tracing the heaviest cut: half a GiB."""

NO_CUT = int(np.iinfo(np.int64).min)
"""The weight that means that no cut has the required weight."""

SMALL_BITS = 23
"""Bits of a frontier up to which a table, of 64 MiB, is always allowed."""

MOST_BITS = 30
"""Bits of a frontier up to which a table is allowed if memory and time suffice."""

DENSE_SHARE = 4
"""States move to a table that they fill by more than 2^-share, or when there are too many."""

MEMORY_SHARE = 0.4
"""Share of the free memory that a table may take."""

ENTRY_SECONDS = 4e-9
"""Approximate time per table entry and step."""

MOST_SECONDS = 1800.0
"""Maximum time for all steps with a table; beyond it, branching may be better."""


@dataclass(frozen=True, eq=False)
class Swept:
    """The result of a sweep.

    Attributes:
        complete: whether the sweep reached its end.
        best: the weight of a heaviest cut in units of the certificate, or `NO_CUT`.
        states: number of states of all steps.
        side: `[n]` int8, the heaviest cut, if requested.
        tabled: whether the sweep used a table, whose time hardly depends on the required weight.
    """

    complete: bool
    best: int
    states: int
    side: np.ndarray | None = None
    tabled: bool = False


def sweep(
    steps: Steps,
    bound: int,
    needed: int,
    deadline: Deadline,
    traced: bool = False,
    most: int = MOST_STATES,
) -> Swept:
    """Search for cuts that weigh `needed` or more.

    Args:
        steps: the steps of the certificate.
        bound: the bound of the certificate.
        needed: the required weight, in units of the certificate.
        deadline: time at which the sweep ends.
        traced: whether to return the cut itself.
        most: maximum number of states at a time.
    """
    most_seconds = ENTRY_SECONDS * len(steps.order) * 2.0**steps.bits
    with ExitStack() as turns, deadline.flag(most_seconds) as stop:
        frontier = _Frontier(steps, bound, needed, traced, most, stop)
        return _swept(frontier, steps, deadline, traced, most, turns)


def _swept(
    frontier: _Frontier,
    steps: Steps,
    deadline: Deadline,
    traced: bool,
    most: int,
    turns: ExitStack,
) -> Swept:
    """Return the result of `sweep`, which releases the memory turns in `turns` afterwards."""
    states = 0
    for step in range(len(steps.order)):
        # Other searches use the same memory: a table waits for its turn, and till then keys remain.
        if frontier.wants_table(deadline) and turns.enter_context(
            turn_of(8 << frontier.bits, deadline.left)
        ):
            frontier.move_to_table()
        count = frontier.extend(step)
        states += count
        # Every partial cut is out of reach of `needed`: this is the proof.
        if not count and not frontier.stopped:
            return Swept(True, NO_CUT, states, tabled=frontier.tabled)
        # Giving up proves nothing; the caller keeps its old bound.
        ended = frontier.stopped or deadline.passed
        too_many = frontier.table is None and count > most
        if ended or too_many or (traced and states > MOST_TRACED):
            return Swept(False, NO_CUT, states, tabled=frontier.tabled)
    side = None
    if traced:
        side = _traced(steps, frontier.origins, int(frontier.value.argmax()))
    return Swept(True, frontier.best, states, side, frontier.tabled)


_Change: TypeAlias = tuple[int, np.ndarray, np.ndarray, np.ndarray]
"""The constant of a step, and the first slots, second slots and changes of its terms."""


class _Frontier:
    """The states of the frontier: keys and values, or a table if there are many.

    Invariant: the best partial cuts of every state whose bound is at least `needed` are in `key`
    and `value`, or in `table` by the bits of the state.

    Attributes:
        bits: number of bits of a state in a table.
        key: `[states, 2]`, the sides of the vertices of the frontier, as bits.
        value: `[states]`, the bound of each state.
        table: `[2^bits]`, the bound of each state, or `NO_CUT`; None where keys hold the states.
        tabled: whether there has been a table.
        origins: by step, the state that each state comes from, where the cut is traced.
    """

    def __init__(
        self,
        steps: Steps,
        bound: int,
        needed: int,
        traced: bool,
        most: int,
        stop: np.ndarray,
    ):
        """Begin with no vertex on the frontier; `stop [1]` ends an extension early."""
        self.bits = steps.bits
        self.key = np.zeros((1, 2), np.uint64)
        self.value = np.full(1, bound)
        self.table: np.ndarray | None = None
        self.tabled = False
        self.origins: list[np.ndarray] = []
        self._steps = steps
        self._needed = needed
        self._traced = traced
        self._most = most
        self._stop = stop
        self._crowd = min(1 << self.bits >> DENSE_SHARE, most >> 1)
        self._live = 0  # the bits of the present frontier

    @property
    def stopped(self) -> bool:
        """Whether an extension may have ended early; then states are missing."""
        return bool(self._stop[0])

    @property
    def best(self) -> int:
        """The highest bound of a state."""
        if self.table is None:
            return int(self.value.max())
        return int(self.table.max())

    def wants_table(self, deadline: Deadline) -> bool:
        """Return whether there are so many states that a table is quicker, and time for one."""
        return (
            self.table is None
            and not self._traced
            and len(self.value) > self._crowd
            and self.bits <= table_bits(len(self._steps.order), deadline)
        )

    def move_to_table(self) -> None:
        """Move all states from the keys to a table."""
        self.table = np.full(1 << self.bits, NO_CUT)
        self.table[self.key[:, 0].astype(np.int64)] = self.value
        self.tabled = True

    def extend(self, step: int) -> int:
        """Give a vertex both sides, add its change, and merge states that now agree.

        Returns:
            The number of states.
        """
        steps = self._steps
        terms = slice(steps.starts[step], steps.starts[step + 1])
        change = (
            int(steps.constant[step]),
            steps.first[terms],
            steps.second[terms],
            steps.change[terms],
        )
        if self.table is None:
            return self._extend_keys(step, change)
        return self._extend_table(self.table, step, change)

    def _extend_keys(self, step: int, change: _Change) -> int:
        kept = self._steps.kept[step]
        slot = int(self._steps.slot[step])
        # The first vertex needs one side only: the other one gives the same cuts.
        self.key, self.value, origin = kernels.extended(
            self.key,
            self.value,
            step > 0,
            slot,
            *change,
            kept,
            self._needed,
            self._most,
            self._stop,
        )
        self._live = int(kept[0])
        if self._traced:
            self.origins.append(origin)
        return len(self.value)

    def _extend_table(self, table: np.ndarray, step: int, change: _Change) -> int:
        slot = int(self._steps.slot[step])
        after = self._live | 1 << slot
        # A vertex enters before others leave, since its terms may be with these.
        count = kernels.extend_table(table, self._live, slot, *change, self._needed, self._stop)
        self._live = after & int(self._steps.kept[step, 0])
        kernels.drop_slots(table, after, after & ~self._live, self._stop)
        if self.stopped:
            return int(count)
        if count < self._crowd >> DENSE_SHARE:  # few states remain: back to keys
            (left,) = np.nonzero(table != NO_CUT)
            self.key = np.stack((left, np.zeros_like(left)), -1).astype(np.uint64)
            self.value = table[left]
            self.table = None
        return int(count)


def table_bits(count: int, deadline: Deadline) -> int:
    """Return the bits of the largest table that memory and time allow, for `count` steps."""
    seconds = min(deadline.left, MOST_SECONDS)
    room = min(MEMORY_SHARE * free_memory() / 8, seconds / (ENTRY_SECONDS * max(1, count)))
    return int(min(MOST_BITS, max(SMALL_BITS, math.log2(max(1.0, room)))))


def _traced(steps: Steps, origins: list[np.ndarray], place: int) -> np.ndarray:
    side = np.empty(len(steps.order), np.int8)
    for v, origin in zip(steps.order[::-1], origins[::-1], strict=True):
        side[v] = origin[place] & 1
        place = origin[place] >> 1
    return side
