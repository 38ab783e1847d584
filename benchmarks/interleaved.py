"""Contenders timed side by side: one process, turn by turn, medians, so that a busy machine slows all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

Contender = Callable[[], object]


def medians(contenders: Mapping[str, Contender], rounds: int, warm_up: int = 3) -> dict[str, float]:
    """Median milliseconds a call of each contender.

    Args:
        contenders: called without arguments.
        rounds: in each, every contender is timed once.
        warm_up: rounds that do not count (compilation, caches).
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(warm_up + rounds):
        for name, call in contenders.items():
            start = time.perf_counter()
            call()
            if turn >= warm_up:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: median(values) for name, values in times.items()}
