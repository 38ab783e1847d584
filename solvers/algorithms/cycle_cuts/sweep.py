"""Dynamic programming over a frontier that keeps only what a certificate leaves possible.

Partial cuts that agree on the frontier are one state, of which the best counts. A state is dropped when its bound is
below what is asked for. So either nothing is left at the end, which proves that no cut weighs that much, or the best of
what is left is a heaviest cut.

References:
    Morin, Marsten (1976), Branch-and-bound strategies for dynamic programming.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import jit
from ...limits.deadline import Deadline
from .frontier import Steps

MOST_STATES = 1 << 23
"""At once; as a table they take 64 MiB, as keys and bounds up to a GiB."""

MOST_TRACED = 1 << 26
"""States of all steps, when the heaviest cut itself is wanted: half a GiB."""

NO_CUT = int(np.iinfo(np.int64).min)

DENSE_BITS, DENSE_SHARE = 23, 4
"""States lie in a table of 2^bits bounds where they fill more than 2^-share of it."""


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep found.

    Attributes:
        complete: whether it came to its end.
        best: the weight of a heaviest cut in units of the certificate, `NO_CUT` where none weighs what was asked for.
        states: of all steps.
        side: `[n]` int8, that cut, where it was asked for.
    """

    complete: bool
    best: int
    states: int
    side: np.ndarray | None = None


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
    key, value = np.zeros((1, 2), np.uint64), np.full(1, bound)
    origins, states, bits = [], 0, int(steps.slot.max()) + 1
    table = None
    for step in range(len(steps.order)):
        terms = slice(steps.starts[step], steps.starts[step + 1])
        change = (
            steps.slot[step],
            steps.constant[step],
            steps.first[terms],
            steps.second[terms],
            steps.change[terms],
        )
        if table is None and not traced and bits <= DENSE_BITS and len(value) > 1 << bits >> DENSE_SHARE:
            table = np.full(1 << bits, NO_CUT)
            table[key[:, 0].astype(np.int64)] = value
        if table is not None:
            table, count = extended_table(table, *change, steps.kept[step, 0], needed)
            if count < 1 << bits >> 2 * DENSE_SHARE:
                (left,) = np.nonzero(table != NO_CUT)
                key, value, table = (
                    np.stack((left, np.zeros_like(left)), -1).astype(np.uint64),
                    table[left],
                    None,
                )
        else:
            key, value, origin = extended(key, value, step > 0, *change, steps.kept[step], needed, most)
            count = len(value)
            origins += [origin] if traced else []
        states += count
        if not count:
            return Swept(True, NO_CUT, states)
        if count > most or deadline.passed or (traced and states > MOST_TRACED):
            return Swept(False, NO_CUT, states)
    best = int(value.max()) if table is None else int(table.max())
    return Swept(True, best, states, _traced(steps, origins, int(value.argmax())) if traced else None)


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
def extended_table(table, slot, constant, first, second, change, kept, needed):
    """The states after one more vertex, as a table of bounds by the sides of the frontier, and how many there are.

    Args:
        table: `[2^bits]`, `NO_CUT` where there is no state.
        slot: the bit of the vertex.
        constant: added to all bounds.
        first: `[terms]`, slots.
        second: `[terms]`, slots.
        change: `[terms]`, added where both have different sides.
        kept: bits of the frontier to come.
        needed: the least bound that is kept.
    """
    after, count, mask = np.full(len(table), NO_CUT), 0, np.int64(kept)
    for s in range(len(table)):
        if table[s] == NO_CUT:
            continue
        fixed, turned = table[s] + constant, np.int64(0)
        for t in range(len(first)):
            side = s >> first[t] & 1
            if second[t] == slot:
                fixed += side * change[t]
                turned += change[t] - 2 * side * change[t]
            else:
                fixed += (side ^ (s >> second[t] & 1)) * change[t]
        if fixed >= needed:
            place = s & mask
            count += after[place] == NO_CUT
            after[place] = max(after[place], fixed)
        if fixed + turned >= needed:
            place = (s | (1 << slot)) & mask
            count += after[place] == NO_CUT
            after[place] = max(after[place], fixed + turned)
    return after, count


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
