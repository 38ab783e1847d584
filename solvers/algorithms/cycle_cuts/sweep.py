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
"""The weight that says that no cut has the required weight."""

SMALL_BITS = 23
"""Bits of a frontier up to which a table, of 64 MiB, is always allowed."""

MOST_BITS = 30
"""Bits of a frontier up to which a table is allowed where memory and time suffice."""

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
        side: `[n]` int8, the heaviest cut, if it was asked for.
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
        deadline: when to end.
        traced: whether to return the cut itself.
        most: maximum number of states at a time.
    """
    with ExitStack() as turns:
        return _swept(steps, bound, needed, deadline, traced, most, turns)


def _swept(
    steps: Steps,
    bound: int,
    needed: int,
    deadline: Deadline,
    traced: bool,
    most: int,
    turns: ExitStack,
) -> Swept:
    """Return the result of `sweep`, which releases the memory turns in `turns` afterwards."""
    key = np.zeros((1, 2), np.uint64)
    value = np.full(1, bound)
    origins = []
    states = 0
    bits = steps.bits
    table = None
    live = 0
    tabled = False
    crowd = min(1 << bits >> DENSE_SHARE, most >> 1)
    # Invariant: the best partial cuts of every frontier state whose bound is at least `needed` are
    # in `key` and `value`, or in `table` by the bits of the state.
    for step in range(len(steps.order)):
        terms = slice(steps.starts[step], steps.starts[step + 1])
        change = (
            int(steps.constant[step]),
            steps.first[terms],
            steps.second[terms],
            steps.change[terms],
        )
        slot = int(steps.slot[step])
        kept = steps.kept[step]
        # Many states move to a table, if memory and time allow one.
        if (
            table is None
            and not traced
            and len(value) > crowd
            and bits <= table_bits(len(steps.order), deadline)
            and turns.enter_context(turn_of(8 << bits, deadline.left))
        ):
            table = np.full(1 << bits, NO_CUT)
            table[key[:, 0].astype(np.int64)] = value
            tabled = True
        # Give the vertex both sides, add its change, and merge states that now agree on the
        # frontier.
        if table is not None:
            after = live | 1 << slot
            count = kernels.extend_table(table, live, slot, *change, needed)
            live = after & int(kept[0])
            kernels.drop_slots(table, after, after & ~live)
            if count < crowd >> DENSE_SHARE:  # few states remain: back to keys
                (left,) = np.nonzero(table != NO_CUT)
                key = np.stack((left, np.zeros_like(left)), -1).astype(np.uint64)
                value = table[left]
                table = None
        else:
            key, value, origin = kernels.extended(
                key, value, step > 0, slot, *change, kept, needed, most
            )
            count = len(value)
            live = int(kept[0])
            if traced:
                origins.append(origin)
        states += count
        if not count:
            return Swept(True, NO_CUT, states, tabled=tabled)
        if (table is None and count > most) or deadline.passed or (traced and states > MOST_TRACED):
            return Swept(False, NO_CUT, states, tabled=tabled)
    best = int(value.max()) if table is None else int(table.max())
    side = _traced(steps, origins, int(value.argmax())) if traced else None
    return Swept(True, best, states, side, tabled)


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
