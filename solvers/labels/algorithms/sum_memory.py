"""Decide which tables and messages sums over labels keep, and what they compute again.

Passes are fastest where all tables of conditionals are kept. If they are not kept, any block of a
table can be computed again from messages. If all messages together take too much memory, messages
within segments of the steps are computed again in the downward pass (`sweep`).
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
"""Maximum size of kept tables, and of messages if fewer segments are faster."""

COPIES: Final = 8
"""Maximum number of blocks in memory at a time."""

SIDES: Final = 2
"""Number of arrays per separator in the pass of derivatives, which has the most."""


@dataclass(frozen=True)
class Way:
    """Plan of what passes over the tables of a problem keep in memory.

    Attributes:
        keeps_tables: whether all tables are kept; otherwise all or some messages are kept.
        segments: ranges of steps within which messages are computed again; a single range if all
            messages are kept.
        block: maximum number of table entries that are computed at a time.
        bytes: the bytes that passes over the whole batch take.
        keeps_instances: whether results of upward passes are kept for the whole batch.
    """

    keeps_tables: bool
    segments: tuple[range, ...]
    block: int
    bytes: int
    keeps_instances: bool = True


def room_for(memory: int | None) -> float:
    """Return the bytes that sums may take: a share of the free memory, and at most `memory`."""
    room = SHARE * free_memory()
    if memory is None:
        return room
    return min(room, memory)


def way_of(problem: LabelProblem, buckets: Buckets, room: float) -> Way | None:
    """Return the fastest plan that fits into memory; None if no plan fits.

    If tables are not kept, a plan with little more than twice the largest table suffices.
    """
    batch = problem.batch
    every = (range(len(buckets.steps)),)
    kept = 8 * (batch * buckets.entries + 4 * buckets.largest)
    block = _block_of(problem, room)
    if kept <= min(room, KEPT_BYTES):
        return Way(True, every, block, kept)
    enough = min(room, max(KEPT_BYTES, 16 * buckets.largest))
    least: Way | None = None
    # Plans with few segments come first. With two or more, messages that are not kept are computed
    # twice.
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
    """Yield divisions into more and more segments of about equally many steps."""
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
    """Return the plan with these segments, whether it fits or not."""
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
    """Return the entries of kept messages, and the maximum entries of other messages meanwhile.

    In the downward pass, the separator of a step also has an array. It exists from the end of the
    step's reader to the end of the step.
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
    """Return the steps whose messages are kept: all of one segment, else those read outside."""
    if len(segments) == 1:
        return set(range(len(readers)))
    segment_of = {t: s for s, segment in enumerate(segments) for t in segment}
    return {
        t for t, reader in enumerate(readers) if reader < 0 or segment_of[reader] != segment_of[t]
    }
