"""Dynamic programming over a frontier that keeps only what a certificate leaves possible.

Partial cuts that agree on the frontier are one state, of which the best counts. A state is dropped
when its bound is below what is asked for. So either nothing is left at the end, which proves that
no cut weighs that much, or the best of what is left is a heaviest cut.

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
"""At once as keys and bounds; they take up to a GiB."""

MOST_TRACED = 1 << 26
"""States of all steps, when the heaviest cut itself is wanted: half a GiB."""

NO_CUT = int(np.iinfo(np.int64).min)

SMALL_BITS, MOST_BITS = 23, 30
"""Tables of up to 2^23 bounds, 64 MiB, are made without a question; larger ones where there are room and time."""

DENSE_SHARE = 4
"""States lie in a table where they fill more than 2^-share of it, or are too many for keys."""

MEMORY_SHARE = 0.4
"""Of what is free, for a table."""

ENTRY_SECONDS, MOST_SECONDS = 4e-9, 1800.0
"""Of an entry of a table in a step, about, and of all of them at most: by then, branching may be better."""


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep found.

    Attributes:
        complete: whether it came to its end.
        best: the weight of a heaviest cut in units of the certificate, `NO_CUT` where none weighs
            what was asked for.
        states: of all steps.
        side: `[n]` int8, that cut, where it was asked for.
        tabled: whether it took a table, which takes about as long whatever is asked for.
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
    """Searches for cuts that weigh `needed` or more.

    Args:
        steps: of the certificate.
        bound: of the certificate.
        needed: in its units.
        deadline: when to end.
        traced: whether the cut is wanted.
        most: states at once.
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
    """What `sweep` returns; `turns` ends with it."""
    key, value = np.zeros((1, 2), np.uint64), np.full(1, bound)
    origins, states, bits = [], 0, steps.bits
    table, live, tabled = None, 0, False
    crowd = min(1 << bits >> DENSE_SHARE, most >> 1)
    for step in range(len(steps.order)):
        terms = slice(steps.starts[step], steps.starts[step + 1])
        change = (
            int(steps.constant[step]),
            steps.first[terms],
            steps.second[terms],
            steps.change[terms],
        )
        slot, kept = int(steps.slot[step]), steps.kept[step]
        if (
            table is None
            and not traced
            and len(value) > crowd
            and bits <= table_bits(len(steps.order), deadline)
            and turns.enter_context(turn_of(8 << bits, deadline.left))
        ):
            table = np.full(1 << bits, NO_CUT)
            table[key[:, 0].astype(np.int64)], tabled = value, True
        if table is not None:
            after = live | 1 << slot
            count = kernels.extend_table(table, live, slot, *change, needed)
            live = after & int(kept[0])
            kernels.drop_slots(table, after, after & ~live)
            if count < crowd >> DENSE_SHARE:
                (left,) = np.nonzero(table != NO_CUT)
                key, value = (
                    np.stack((left, np.zeros_like(left)), -1).astype(np.uint64),
                    table[left],
                )
                table = None
        else:
            key, value, origin = kernels.extended(
                key, value, step > 0, slot, *change, kept, needed, most
            )
            count, live = len(value), int(kept[0])
            origins += [origin] if traced else []
        states += count
        if not count:
            return Swept(True, NO_CUT, states, tabled=tabled)
        if (table is None and count > most) or deadline.passed or (traced and states > MOST_TRACED):
            return Swept(False, NO_CUT, states, tabled=tabled)
    best = int(value.max()) if table is None else int(table.max())
    return Swept(
        True, best, states, _traced(steps, origins, int(value.argmax())) if traced else None, tabled
    )


def table_bits(count: int, deadline: Deadline) -> int:
    """Of the largest table that there is memory for, and time until the deadline to go `count` times through it."""
    seconds = min(deadline.left, MOST_SECONDS)
    room = min(MEMORY_SHARE * free_memory() / 8, seconds / (ENTRY_SECONDS * max(1, count)))
    return int(min(MOST_BITS, max(SMALL_BITS, math.log2(max(1.0, room)))))


def _traced(steps: Steps, origins: list[np.ndarray], place: int) -> np.ndarray:
    side = np.empty(len(steps.order), np.int8)
    for v, origin in zip(steps.order[::-1], origins[::-1], strict=True):
        side[v] = origin[place] & 1
        place = origin[place] >> 1
    return side
