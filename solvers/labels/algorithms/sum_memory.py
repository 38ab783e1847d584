"""Decide which tables and messages sums over labels keep, and what they compute again.

Passes are fastest where all tables of conditionals are kept. Without these, messages give any block
of a table again. Where all messages together take too much, those within segments of the steps are
computed again on the way down (`sweep`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Final

import numpy as np

from ...algorithms.elimination.treewidth import SHARE
from ...arrays import home_of
from ...limits.memory import free_memory
from ..problem import LabelProblem
from .buckets import DEVICE_PART_BYTES, PART_BYTES, Buckets

KEPT_BYTES: Final = 1 << 28
"""Maximum size of the tables that are kept, and of messages where fewer segments are faster."""

COPIES: Final = 8
"""Number of blocks in memory at a time, at most."""

SIDES: Final = 2
"""Arrays for each separator in the pass with the most of them, that of derivatives."""


@dataclass(frozen=True)
class Way:
    """What passes over the tables of a problem keep.

    Attributes:
        keeps_tables: whether all tables are kept; else all messages, or some of them.
        segments: ranges of steps within which messages are computed again; one for none.
        block: maximum entries of a table that are computed at a time.
        bytes: that passes take, with the whole batch.
        keeps_instances: whether results of passes up are kept for the whole batch.
    """

    keeps_tables: bool
    segments: tuple[range, ...]
    block: int
    bytes: int
    keeps_instances: bool = True


def room_for(memory: int | None) -> float:
    """Return the bytes that sums may take: a share of what is free, and at most `memory`."""
    room = SHARE * free_memory()
    if memory is None:
        return room
    return min(room, memory)


def way_of(problem: LabelProblem, buckets: Buckets, room: float) -> Way | None:
    """Return the fastest way that fits into memory; None if there is none.

    Where tables are not kept, a way that takes little more than twice the largest table suffices.
    """
    batch = problem.batch
    every = (range(len(buckets.steps)),)
    kept = 8 * (batch * buckets.entries + 4 * buckets.largest)
    block = _block_of(problem, room)
    if kept <= min(room, KEPT_BYTES):
        return Way(True, every, block, kept)
    enough = min(room, max(KEPT_BYTES, 16 * buckets.largest))
    least: Way | None = None
    # Few segments first: from two on, what is not kept is computed a second time.
    for segments in _segmentations(len(buckets.steps)):
        way = _by_messages(problem, buckets, segments, block, room)
        if least is None or way.bytes < least.bytes:
            least = way
        if way.bytes <= enough:
            break
    if least is not None and least.bytes <= room:
        return least
    return None


def _block_of(problem: LabelProblem, room: float) -> int:
    """Return how many entries of a table are computed at a time."""
    most = DEVICE_PART_BYTES
    if home_of(problem.unary).on_host:
        most = PART_BYTES
    return max(1, int(min(most, room / (4 * COPIES)) // 8))


def _segmentations(n: int) -> Iterator[tuple[range, ...]]:
    """Yield more and more segments of about as many steps each."""
    count = 1
    while True:
        ends = np.linspace(0, n, min(count, n) + 1).astype(int).tolist()
        yield tuple(range(a, b) for a, b in pairwise(ends))
        if count >= n:
            return
        count *= 2


def _by_messages(
    problem: LabelProblem, buckets: Buckets, segments: tuple[range, ...], block: int, room: float
) -> Way:
    """Return the way with these segments, whether it fits or not."""
    sizes = problem.sizes.tolist()
    messages = [prod(sizes[u] for u in step.separator) for step in buckets.steps]
    kept, passing = _held(buckets, messages, segments)
    together = max(1, min(problem.batch, block // buckets.largest))
    states = max(sizes)
    blocks = COPIES * max(min(block, together * buckets.largest), states)
    alone = 8 * (SIDES * together * (kept + passing) + blocks)
    whole = alone + 8 * SIDES * (problem.batch - together) * kept
    if whole <= room:
        return Way(False, segments, block, whole)
    return Way(False, segments, block, alone, keeps_instances=False)


def _held(buckets: Buckets, messages: list[int], segments: tuple[range, ...]) -> tuple[int, int]:
    """Return entries of the messages that are kept, and the most that others take meanwhile.

    Going down, a step's separator also has an array from when its reader is done until the step is.
    """
    readers = buckets.readers
    kept_steps = _steps_kept(readers, segments)
    most = above = 0
    for segment in reversed(segments):
        passing = sum(messages[t] for t in segment if t not in kept_steps)
        for t in reversed(segment):
            above += sum(messages[child] for child in buckets.steps[t].children)
            most = max(most, above + passing)
            within = (child for child in buckets.steps[t].children if child not in kept_steps)
            passing -= sum(messages[child] for child in within)
            if readers[t] >= 0:
                above -= messages[t]
    return sum(messages[t] for t in kept_steps), most


def _steps_kept(readers: Sequence[int], segments: tuple[range, ...]) -> set[int]:
    """Return the steps whose messages are kept: all of one segment, else those read elsewhere."""
    if len(segments) == 1:
        return set(range(len(readers)))
    segment_of = {t: s for s, segment in enumerate(segments) for t in segment}
    return {
        t for t, reader in enumerate(readers) if reader < 0 or segment_of[reader] != segment_of[t]
    }
