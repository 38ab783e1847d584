"""Contenders timed side by side: one process, turn by turn, medians, so that a busy machine slows all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from statistics import median

Contender = Callable[[], object]
Clock = Callable[[], float]


def medians(
    contenders: Mapping[str, Contender],
    rounds: int,
    warm_up: int = 3,
    *,
    turn_seconds: float = 0.0,
    seconds: float = float("inf"),
    clock: Clock = time.perf_counter,
    whole_turns: bool = False,
) -> dict[str, float]:
    """Median milliseconds a call of each contender.

    Args:
        contenders: called without arguments.
        rounds: in each, every contender has a turn.
        warm_up: rounds that do not count (compilation, caches).
        turn_seconds: a turn lasts at least so long, and one call; each call is timed. Calls of
            microseconds would else be measured with the caches that the others left.
        seconds: a contender that has used up this much sits out the rest. If it did so while
            warming up, its last turn counts.
        clock: what seconds are; `time.process_time` where other programs share the cores.
        whole_turns: whether a turn is measured as a whole and counts as one call of mean length,
            for calls that are short beside the steps of the clock.
    """
    turns: dict[str, list[list[float]]] = {name: [] for name in contenders}
    for _ in range(warm_up + rounds):
        for name, call in contenders.items():
            if sum(map(sum, turns[name])) <= seconds:
                taken = _turn(call, turn_seconds, clock)
                turns[name].append([sum(taken) / len(taken)] if whole_turns else taken)
    counted = {name: taken[warm_up:] or taken[-1:] for name, taken in turns.items()}
    return {name: 1000 * median(chain.from_iterable(taken)) for name, taken in counted.items()}


def _turn(call: Contender, at_least: float, clock: Clock) -> list[float]:
    """Seconds of every call of a turn, which add up to the length of the turn."""
    taken = list[float]()
    begin = clock()
    before = begin
    # The calls are charged with what this loop does besides: a sum of all of them would take
    # longer than a call of microseconds.
    while not taken or before - begin < at_least:
        call()
        now = clock()
        taken.append(now - before)
        before = now
    return taken


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Keeps this thread, and the threads that it starts, on so many of its cores (on Linux; elsewhere on all)."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
