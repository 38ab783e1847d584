"""PyEPO with one process and with several: wall-clock seconds of the same training."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from .of_pyepo import with_solutions
from .task import SAMPLES
from .training import Prepared, trained

LOSSES = {
    "SPO+": ("SPOPlus", {}),
    "perturbed Fenchel-Young": ("perturbedFenchelYoung", {"n_samples": SAMPLES}),
}
ROUNDS = 3


def measured(prepared: Prepared, processes: Sequence[int] = (1, 2)) -> list[dict[str, Any]]:
    """Return a row for each loss and number of processes; rounds alternate between the numbers.

    The seconds include the start of the processes, as in a user's training.
    """
    rows = []
    for loss, (name, options) in LOSSES.items():
        seconds: dict[int, list[float]] = {count: [] for count in processes}
        for _ in range(ROUNDS):
            for count in processes:
                method = with_solutions(name, processes=count, **options)
                start = time.perf_counter()
                trained(method, 0.01, prepared, prepared.task.epochs)
                seconds[count].append(time.perf_counter() - start)
        rows += [
            {
                "loss": loss,
                "processes": count,
                "wall_seconds": values,
                "median": median(values),
            }
            for count, values in seconds.items()
        ]
    return rows
