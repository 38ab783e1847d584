"""Solvers of a user's own, which leave out what they may leave out, or lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import ArgmaxSolver, Capabilities, Maximiser, labels, solve
from solvers.labels import LabelSolver

from .draws import Draw
from .enumeration import answered, check_ranking, check_solution
from .limit_calls import bits, label_arrays
from .outcomes import OURS, claim


@dataclass(frozen=True)
class Greedy(ArgmaxSolver):
    """A heuristic of bits that proves nothing."""

    name = "greedy"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem: Any, deadline: Any) -> Maximiser:
        return Maximiser((np.asarray(problem.unary) > 0).astype(np.int8))


@dataclass(frozen=True)
class Bounded(ArgmaxSolver):
    """A heuristic of bits with a bound, which is false where it is minus 1e300."""

    name = "bounded"
    capabilities = Capabilities(exact=False)
    bound: float | None = None

    def _argmax(self, problem: Any, deadline: Any) -> Maximiser:
        z = (np.asarray(problem.unary) > 0).astype(np.int8)
        bound = np.asarray(problem.magnitude) if self.bound is None else np.full(len(z), self.bound)
        return Maximiser(z, bound)


@dataclass(frozen=True)
class GreedyLabels(LabelSolver):
    """A heuristic of labels that proves nothing."""

    name = "greedy_labels"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem: Any, deadline: Any) -> Maximiser:
        return Maximiser(np.asarray(problem.unary).argmax(axis=-1))


def _of_bits(draw: Draw, folder: Path) -> Callable[[], None]:
    given, states = bits(draw)
    count = draw.of((None, 1, 3))
    given["solver"] = draw.of((Greedy(), Greedy(), Bounded()))

    def call() -> None:
        solution = answered(states, lambda: solve(**given, k_best=count))
        if count is None:
            check_solution(states, solution)
        else:
            check_ranking(states, solution, count)

    return call


def _of_labels(draw: Draw, folder: Path) -> Callable[[], None]:
    given, states = label_arrays(draw)

    def call() -> None:
        search = partial(labels.solve, **given, solver=GreedyLabels())
        check_solution(states, answered(states, search))

    return call


def _of_liars(draw: Draw, folder: Path) -> Callable[[], None]:
    """Ask a solver whose bound is below its own score."""
    given, _ = bits(draw)

    def call() -> None:
        try:
            solve(**given, solver=Bounded(-1e300))
        except OURS:
            return
        claim(False, "a bound below the score of the same solver is accepted")

    return call


PLUG_IN_CALLS: Final = {
    "a plug-in without a bound": (4, _of_bits),
    "a plug-in of labels without a bound": (2, _of_labels),
    "a plug-in with a false bound": (1, _of_liars),
}
"""Weight and maker of each, by the name that the report gives it."""
