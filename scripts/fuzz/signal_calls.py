"""Ctrl-C at a random moment of a search: it must end soon, and nothing false may be said of what was found."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import Solution, SolveInterrupted, labels, solve
from solvers.constraints import at_most, cardinality, implies

from .draws import Draw
from .enumeration import States, check_ranking, check_solution
from .limit_calls import _edges, _scores
from .outcomes import OURS, FalseClaim, claim, in_child

SOON: Final = 15.0
"""Seconds of wall-clock time within which Ctrl-C ends a search, on a machine with much else to do."""

PATIENCE: Final = 90.0
"""Seconds of wall-clock time for a search, and for the kernels that a new process loads."""

DELAYS: Final = (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.3)
SOLVERS: Final = (
    "auto",
    "auto",
    "branch_and_bound",
    "cycle_cuts",
    "dual_ascent",
    "local_search",
    "cp_sat",
)
OF_CONSTRAINTS: Final = ("auto", "auto", "cp_sat", "highs")


def _interrupted(search: Callable[[], Solution], delay: float) -> Solution | None:
    """Return what a search finds before Ctrl-C, or the answer that came first; None if nothing was found.

    Raises:
        FalseClaim: the search raised an error of ours, or went on.
    """
    sent = []
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    found = None
    try:
        try:
            timer.start()
            found = search()
        finally:
            timer.cancel()
            timer.join()
    except SolveInterrupted as stopped:
        found = stopped.solution
    except KeyboardInterrupt:
        pass
    except OURS as error:
        raise FalseClaim(f"Ctrl-C became {type(error).__name__}: {error}") from error
    claim(
        not sent or time.monotonic() - sent[0] < SOON,
        f"Ctrl-C ended a search late: after more than {SOON:g} s",
    )
    return found


def _bits(draw: Draw, folder: Path) -> Callable[[], None]:
    """Search for a state of few variables, which enumeration judges, or of many, which nothing solves at once."""
    n = draw.of((6, 8, 45, 70))
    edges = np.stack(np.triu_indices(n, 1), axis=-1) if n > 9 else _edges(draw, n)
    unary = _scores(draw, (n,))
    pairwise = _scores(draw, (len(edges),))
    given: dict[str, Any] = {"unary": unary, "solver": draw.of(SOLVERS)}
    if len(edges):
        given |= {"pairwise": pairwise, "edges": edges}
    most = draw.whole(1, n - 1)
    within = draw.chance(0.5)
    if within:
        constraint = draw.of((cardinality(most), at_most(most)))
        given |= {"constraints": [constraint, implies(0, 1)], "solver": draw.of(OF_CONSTRAINTS)}
    count = draw.of((None, None, 2))
    delay = draw.of(DELAYS)
    states = States.of_bits(unary, pairwise, edges) if n < 9 else None
    if states is not None and within:
        total = states.z.sum(axis=1)
        fits = total == most if constraint.comparison == "==" else total <= most
        states = states.only(fits & (states.z[:, 0] <= states.z[:, 1]))
    if given["solver"] == "local_search":
        given["time_limit"] = 2.0
    given["k_best"] = count
    loaded = draw.chance(0.7)

    def call() -> None:
        in_child(_judge_bits, (given, states, delay, loaded), PATIENCE)

    return call


def _judge_bits(given: dict[str, Any], states: States | None, delay: float, loaded: bool) -> None:
    """Interrupt a search and check what it found.

    Args:
        given: arguments of `solve`.
        states: those of the problem; None where they are too many.
        delay: seconds until Ctrl-C.
        loaded: whether the same search is made before, so that its kernels are there.
    """
    if loaded:
        with contextlib.suppress(*OURS):
            solve(**{**given, "time_limit": 0.05})
    found = _interrupted(partial(solve, **given), delay)
    if found is None:
        return
    if states is None:
        _check_large(found, given["unary"], given["pairwise"], given["edges"])
    elif given["k_best"] is None:
        check_solution(states, found)
    else:
        check_ranking(states, found, given["k_best"])


def _check_large(
    found: Solution, unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray
) -> None:
    """Check what can be said without enumeration: the scores, and that bounds are no lower."""
    z = np.asarray(found.z).reshape(-1, len(unary))
    score, bound = (np.asarray(part).reshape(-1) for part in (found.score, found.bound))
    there = score > -np.inf
    right = z @ unary + (z[:, edges[:, 0]] * z[:, edges[:, 1]]) @ pairwise
    claim(
        np.allclose(score[there], right[there], rtol=1e-9),
        f"scores are wrong: {score} instead of {right}",
    )
    claim(bool((bound >= score).all()), f"bounds are below the scores: {bound} and {score}")


def _labels(draw: Draw, folder: Path) -> Callable[[], None]:
    n, values = draw.of(((4, 3), (30, 5)))
    count = draw.of((None, 2))
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    unary = draw.random.standard_normal((n, values))
    tables = draw.random.standard_normal((len(edges), values, values))
    delay = draw.of(DELAYS)
    solver = draw.of(("auto", "dual_ascent", "bits", "toulbar2"))
    states = States.of_labels(unary, tables, edges, np.full(n, values)) if n < 5 else None

    given = {"unary": unary, "pairwise": tables, "edges": edges, "solver": solver, "k_best": count}
    loaded = draw.chance(0.7)

    def call() -> None:
        in_child(_judge_labels, (given, states, delay, loaded), PATIENCE)

    return call


def _judge_labels(given: dict[str, Any], states: States | None, delay: float, loaded: bool) -> None:
    """Interrupt a search for labels, as `_judge_bits` does."""
    if loaded:
        with contextlib.suppress(*OURS):
            labels.solve(**{**given, "time_limit": 0.05})
    found = _interrupted(partial(labels.solve, **given), delay)
    if found is None or states is None:
        return
    if given["k_best"] is None:
        check_solution(states, found)
    else:
        check_ranking(states, found, given["k_best"])


SIGNAL_CALLS: Final = {
    "Ctrl-C during solve": (3, _bits),
    "Ctrl-C during labels.solve": (1, _labels),
}
"""Weight and maker of each, by the name that the report gives it."""
