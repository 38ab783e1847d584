"""Search the instances of a batch in several threads, each within its share of the time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...compiled.threads import available_cores
from ...limits.deadline import Deadline
from ...limits.interrupts import in_threads
from ...limits.progress import Known
from ...problems.starts import starts_of
from ...solution import Maximiser
from ..problem import LabelProblem

Solve: TypeAlias = Callable[[LabelProblem, Deadline, np.ndarray | None], tuple[np.ndarray, float]]
"""Returns labels `[n]` and a bound of one instance, from initial labels `[n]` or none."""


def side_by_side(
    problem: LabelProblem, deadline: Deadline, solve: Solve, threads: int | None, start: Any
) -> Maximiser:
    """Return labels and bounds of all instances of a host problem.

    Args:
        problem: the batch.
        deadline: of the batch; if there are more instances than threads, each gets a share.
        solve: searches one instance.
        threads: number of instances at a time; None for all cores.
        start: initial labels `[..., n]`, which broadcast to the batch; None for none.
    """
    workers = threads or available_cores()
    tasks = [
        partial(_solved, problem, instance, workers, deadline, solve, first)
        for instance, first in enumerate(starts_of(start, problem, np.int64))
    ]
    labels, bounds = zip(*in_threads(tasks, min(workers, len(tasks))), strict=True)
    return Maximiser(np.stack(labels), np.array(bounds))


def _solved(
    problem: LabelProblem,
    instance: int,
    workers: int,
    deadline: Deadline,
    solve: Solve,
    first: np.ndarray | None,
) -> tuple[np.ndarray, float]:
    """Return labels and a bound of an instance, within its share of the time."""
    rows = slice(instance, instance + 1)
    one = problem.instances(rows)
    rounds = -(-(problem.batch - instance) // workers)
    soon = deadline.within(deadline.left / rounds)
    return solve(one, soon.within_whole(one, partial(Known._replace, rows=rows)), first)
