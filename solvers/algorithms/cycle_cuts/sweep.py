"""Dynamic programming over a frontier that keeps only what a certificate leaves possible.

Partial cuts that agree on the frontier are one state, of which the best counts. A state is dropped when its bound is
below what is asked for. So either nothing is left at the end, which proves that no cut weighs that much, or the best of
what is left is a heaviest cut.

References:
    Morin, Marsten (1976), Branch-and-bound strategies for dynamic programming.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from ...compiled import jit
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

BLOCK_BITS = 11
"""Entries of 2^bits in a row whose changes are worked out together."""


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep found.

    Attributes:
        complete: whether it came to its end.
        best: the weight of a heaviest cut in units of the certificate, `NO_CUT` where none weighs what was asked for.
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
    steps: Steps, bound: int, needed: int, deadline: Deadline, traced: bool, most: int, turns: ExitStack
) -> Swept:
    """What `sweep` returns; `turns` ends with it."""
    key, value = np.zeros((1, 2), np.uint64), np.full(1, bound)
    origins, states, bits = [], 0, steps.bits
    table, live, tabled = None, 0, False
    crowd = min(1 << bits >> DENSE_SHARE, most >> 1)
    for step in range(len(steps.order)):
        terms = slice(steps.starts[step], steps.starts[step + 1])
        change = (steps.constant[step], steps.first[terms], steps.second[terms], steps.change[terms])
        slot, kept = steps.slot[step], steps.kept[step]
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
            after = live | 1 << int(slot)
            count = extend_table(table, live, slot, *change, needed)
            live = after & int(kept[0])
            drop_slots(table, after, after & ~live)
            if count < crowd >> DENSE_SHARE:
                (left,) = np.nonzero(table != NO_CUT)
                key, value = np.stack((left, np.zeros_like(left)), -1).astype(np.uint64), table[left]
                table = None
        else:
            key, value, origin = extended(key, value, step > 0, slot, *change, kept, needed, most)
            count, live = len(value), int(kept[0])
            origins += [origin] if traced else []
        states += count
        if not count:
            return Swept(True, NO_CUT, states, tabled=tabled)
        if (table is None and count > most) or deadline.passed or (traced and states > MOST_TRACED):
            return Swept(False, NO_CUT, states, tabled=tabled)
    best = int(value.max()) if table is None else int(table.max())
    return Swept(True, best, states, _traced(steps, origins, int(value.argmax())) if traced else None, tabled)


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


@jit.strict
def extended(key, value, both, slot, constant, first, second, change, kept, needed, most):
    """The states after one more vertex.

    Args:
        key: `[count, 2]`.
        value: `[count]`, their bounds.
        both: whether the vertex may be on both sides.
        slot: its bit.
        constant: added to all bounds.
        first: `[terms]`, slots.
        second: `[terms]`, slots.
        change: `[terms]`, added where both have different sides.
        kept: `[2]`, bits of the frontier to come.
        needed: the least bound that is kept.
        most: states, of which more are not looked for.

    Returns:
        `[new, 2]` and `[new]`, keys and bounds; `[new]`, twice the place of the state before, and the new side.
    """
    count, room = len(value), 1024
    new_key, new_value = np.empty((room, 2), np.uint64), np.empty(room, np.int64)
    origin = np.empty(room, np.int64)
    table = np.full(4 * room, -1, np.int32)
    found = 0
    for s in range(count):
        fixed, turned = value[s] + constant, np.int64(0)
        low, high = key[s, 0], key[s, 1]
        for t in range(len(first)):
            side = _bit(low, high, first[t])
            if second[t] == slot:
                turned += change[t] if side == 0 else -change[t]
                if side:
                    fixed += change[t]
            elif side != _bit(low, high, second[t]):
                fixed += change[t]
        for choice in range(1 + both):
            bound = fixed + choice * turned
            if bound < needed or found > most:
                continue
            if found == room:
                room *= 2
                new_key, new_value, origin = _longer(new_key, new_value, origin)
                table = _hashed(new_key, found, 4 * room)
            low_new, high_new = low, high
            if choice:
                if slot < 64:
                    low_new |= np.uint64(1) << np.uint64(slot)
                else:
                    high_new |= np.uint64(1) << np.uint64(slot - 64)
            low_new &= kept[0]
            high_new &= kept[1]
            place = _spot(low_new, high_new, len(table))
            while table[place] >= 0 and (
                new_key[table[place], 0] != low_new or new_key[table[place], 1] != high_new
            ):
                place = (place + 1) & (len(table) - 1)
            at = table[place]
            if at < 0:
                at = found
                table[place] = at
                found += 1
                new_key[at, 0], new_key[at, 1] = low_new, high_new
            elif bound <= new_value[at]:
                continue
            new_value[at], origin[at] = bound, 2 * s + choice
    return new_key[:found].copy(), new_value[:found].copy(), origin[:found].copy()


@jit.strict
def extend_table(table, live, slot, constant, first, second, change, needed):
    """Gives one more vertex its sides, in place, and returns how many states there are, before slots are dropped.

    What a step changes is a sum over pairs of bits. For all entries that share their upper bits it is a table over
    the lower ones, the same for all, and a sum over single bits.

    Args:
        table: `[2^bits]`, `NO_CUT` where there is no state, as wherever a bit is set that is not live.
        live: the bits of the frontier.
        slot: the bit of the vertex, not live.
        constant: added to all bounds.
        first: `[terms]`, slots.
        second: `[terms]`, slots.
        change: `[terms]`, added where both have different sides.
        needed: the least bound that is kept.
    """
    low, side = 0, 1 << slot
    while low < BLOCK_BITS and 2 << low <= len(table):
        low += 1
    size, count = 1 << low, 0
    run = min(side, size)
    between = np.zeros(size, np.int64)
    for t in range(len(first)):
        if first[t] < low and second[t] < low and second[t] != slot:
            for s in range(size):
                between[s] += ((s >> first[t] ^ s >> second[t]) & 1) * change[t]
    fixed, turned = np.empty(size, np.int64), np.empty(size, np.int64)
    fixed_by, turned_by = np.empty(low, np.int64), np.empty(low, np.int64)
    for block in range(0, len(table), size):
        if block & ~(live | (size - 1)):
            continue
        fixed_by[:], turned_by[:], fixed[0], turned[0] = 0, 0, constant, 0
        for t in range(len(first)):
            a, b = first[t], second[t]
            if b == slot:
                if a < low:
                    fixed_by[a] += change[t]
                    turned_by[a] -= 2 * change[t]
                    turned[0] += change[t]
                else:
                    fixed[0] += (block >> a & 1) * change[t]
                    turned[0] += (1 - 2 * (block >> a & 1)) * change[t]
            elif a >= low and b >= low:
                fixed[0] += ((block >> a ^ block >> b) & 1) * change[t]
            elif a >= low or b >= low:
                above = block >> max(a, b) & 1
                fixed[0] += above * change[t]
                fixed_by[min(a, b)] += (1 - 2 * above) * change[t]
        for k in range(low):
            for s in range(1 << k):
                fixed[s + (1 << k)] = fixed[s] + fixed_by[k]
                turned[s + (1 << k)] = turned[s] + turned_by[k]
        for begin in range(0, size, 2 * run):
            for s in range(begin, begin + run):
                before = table[block + s]
                same = before + between[s] + fixed[s]
                other = same + turned[s]
                keeps = before != NO_CUT and same >= needed
                turns = before != NO_CUT and other >= needed
                table[block + s] = same if keeps else NO_CUT
                table[block + s + side] = other if turns else NO_CUT
                count += keeps + turns
    return count


@jit.strict
def drop_slots(table, live, leaving):
    """Keeps the best of what differs in bits that leave the frontier alone, in place.

    Args:
        table: `[2^bits]`, as `extend_table` leaves it.
        live: the bits of the frontier and of the last vertex.
        leaving: those to drop.
    """
    for slot in range(64):
        side = 1 << slot
        if not leaving & side:
            continue
        live &= ~side
        for begin in range(0, len(table), 2 * side):
            if begin & ~(live | (side - 1)):
                continue
            for s in range(begin, begin + side):
                table[s] = max(table[s], table[s + side])
                table[s + side] = NO_CUT


@jit.inlined
def _bit(low, high, slot):
    word = low if slot < 64 else high
    return np.int64(word >> np.uint64(slot & 63) & np.uint64(1))


@jit.inlined
def _spot(low, high, size):
    """Where a table of a power of two of places looks first."""
    h = (low ^ (high * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    return np.int64(h >> np.uint64(20)) & (size - 1)


@jit.strict
def _longer(key, value, origin):
    count = len(value)
    more_key, more_value = np.empty((2 * count, 2), np.uint64), np.empty(2 * count, np.int64)
    more_origin = np.empty(2 * count, np.int64)
    more_key[:count], more_value[:count], more_origin[:count] = key, value, origin
    return more_key, more_value, more_origin


@jit.strict
def _hashed(key, count, size):
    table = np.full(size, -1, np.int32)
    for at in range(count):
        place = _spot(key[at, 0], key[at, 1], size)
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = at
    return table
