"""Solve label problems by toulbar2, through pytoulbar2."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...solution import Maximiser
from ...solver import Capabilities
from ..algorithms.toulbar2.network import write_network
from ..algorithms.toulbar2.process import Process
from ..algorithms.whole_scores import WholeScores
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class Toulbar2(LabelSolver):
    """Exact solver of problems with any tables, by toulbar2.

    The search is best-first and depth-first, with soft arc consistency.

    The scores become whole numbers (`WholeScores`), which a file states as costs. toulbar2 runs
    with its own defaults and one thread, in a separate process. Its library holds one problem at a
    time, and its time limits are whole seconds. The process is killed a second after the deadline.

    References:
        Hurley, O'Sullivan, Allouche, Katsirelos, Schiex, Zytnicki, de Givry (2016), Multi-language
        evaluation of exact solvers in graphical model discrete optimization.
    """

    name = "toulbar2"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        packages=("pytoulbar2",),
        install="pip install 'structured-vae[toulbar2]'",
    )

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        labels = np.asarray(problem.unary).argmax(axis=-1)
        bounds = np.full(problem.batch, math.inf)
        with Process() as process, tempfile.TemporaryDirectory() as folder:
            for b in range(problem.batch):
                soon = deadline.within(deadline.left / (problem.batch - b))
                one = problem.instances(slice(b, b + 1))
                soon = soon.within_whole(one, partial(Known._replace, rows=slice(b, b + 1)))
                best, bounds[b] = _searched(one, soon, process, Path(folder) / "network.wcsp")
                if best is not None:
                    labels[b] = best
        return Maximiser(labels, bounds)


def _searched(
    problem: LabelProblem, deadline: Deadline, process: Process, file: Path
) -> tuple[np.ndarray | None, float]:
    """Return labels `[n]` of an instance (None if none were found), and a bound."""
    scores = WholeScores.of(problem)
    constant = None
    if not deadline.passed:
        constant = write_network(scores, file, deadline)
    if constant is None:
        return None, math.inf
    result = process.search(
        file, problem.n, deadline, lambda labels: deadline.tell(partial(Known.of, labels))
    )
    if result.least is None:
        return result.labels, -math.inf
    return result.labels, scores.bound(constant - result.least)
