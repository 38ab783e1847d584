"""Ctrl-C while a model is built, before a backend has begun, and where a search fails; signals with other handlers."""

import signal
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Deadline,
    Maximiser,
    SolveFailedError,
    SolveInterrupted,
    interrupt_solves,
    solve,
)
from solvers.algorithms.presolve.model_building import NoTimeToBuildError, pairs_in_time
from solvers.constraints import at_most
from solvers.labels import solve as solve_labels
from solvers.limits.interrupts import counted_interrupts, in_threads, kernels_hear_keyboard


class AlarmError(Exception):
    """What a handler of SIGALRM raises."""


def dense(n, seed=0):
    """Gaussian scores of both signs between all pairs."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal(n), np.triu(generator.standard_normal((n, n)), 1)


@dataclass(frozen=True)
class Failing(ArgmaxSolver):
    """Waits for an interrupt and fails."""

    name: ClassVar[str] = "failing"
    capabilities: ClassVar[Capabilities] = Capabilities(
        exact=True, time_limit=True, constraints=2**54
    )

    def _argmax(self, problem, deadline):
        interrupt_solves()
        assert deadline.passed
        raise SolveFailedError("no answer in its time")

    def _argmax_within(self, problem, constraints, deadline):
        interrupt_solves()
        return Maximiser(np.full((problem.batch, problem.n), -1, np.int8), problem.positive_part)


@dataclass(frozen=True)
class Loading(ArgmaxSolver):
    """Is interrupted before it has made a deadline, as while a package is loaded."""

    name: ClassVar[str] = "loading"
    capabilities: ClassVar[Capabilities] = Capabilities(exact=True, time_limit=True)

    def _argmax(self, problem, deadline):
        interrupt_solves()
        assert deadline.passed
        return Maximiser(np.zeros((problem.batch, problem.n), np.int8), problem.positive_part)


def test_a_signal_at_the_beginning_of_a_kernel_is_ctrl_c():
    """A kernel makes a `SystemError` of it; other ones stay what they are."""
    with pytest.raises(KeyboardInterrupt), kernels_hear_keyboard():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
    first = SystemError("a kernel inside another one")
    first.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), kernels_hear_keyboard():
        raise SystemError("the other one") from first
    with pytest.raises(SystemError, match="another one"), kernels_hear_keyboard():
        raise SystemError("another one")


def test_an_interrupt_ends_the_building_of_a_model():
    edges = np.stack(np.triu_indices(300, 1), axis=1)
    pairs = pairs_in_time(edges, np.ones(len(edges)), Deadline.after(None))
    next(pairs)
    interrupt_solves()
    with pytest.raises(NoTimeToBuildError):
        list(pairs)


@pytest.mark.parametrize(
    "options", [{}, {"constraints": [at_most(3)]}], ids=["free", "constraints"]
)
def test_an_interrupt_takes_precedence_over_a_failure(options):
    with pytest.raises(SolveInterrupted) as stopped:
        solve(*dense(30), solver=Failing(), **options)
    assert not stopped.value.found
    assert (stopped.value.solution.z == -1).all()
    assert stopped.value.solution.score == -np.inf
    assert not stopped.value.solution.optimal


@pytest.mark.parametrize(
    "options",
    [
        {"k_best": 3},
        {"k_best": 3, "constraints": [at_most(3)]},
        {"fix": {0: 1}},
        {"fix": {0: 1}, "constraints": [at_most(3)]},
    ],
    ids=str,
)
def test_an_interrupt_takes_precedence_whatever_is_asked_for(options):
    with pytest.raises(SolveInterrupted):
        solve(*dense(30), solver=Failing(), **options)


def test_an_interrupt_takes_precedence_over_a_failure_of_labels():
    with pytest.raises(SolveInterrupted):
        solve_labels(np.zeros((30, 2)), potts=1.0, edges=[[0, 1]], solver=Failing())


def test_an_interrupt_before_a_backend_has_begun_counts():
    with pytest.raises(SolveInterrupted):
        solve(*dense(30), solver=Loading())


def test_earlier_interrupts_do_not_count():
    interrupt_solves()
    with counted_interrupts():
        assert not Deadline.after(None).passed
        interrupt_solves()
        assert Deadline.after(None).passed
    assert not Deadline.after(None).passed


@pytest.fixture
def alarm():
    """A handler of SIGALRM that raises."""

    def ring(number, frame):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.spread(1)
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no SIGALRM")
@pytest.mark.parametrize("options", [{}, {"constraints": [at_most(60)]}, {"k_best": 2}], ids=str)
def test_a_handler_that_raises_ends_the_search_of_its_own_thread_alone(alarm, options):
    problem, found, begin = dense(300), [], time.perf_counter()
    other = threading.Thread(target=lambda: found.append(solve(*problem, time_limit=1.5)))
    other.start()
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    with pytest.raises(AlarmError):
        solve(*problem, time_limit=20.0, **options)
    assert time.perf_counter() - begin < 1.4
    other.join()
    assert len(found) == 1
    assert time.perf_counter() - begin > 1.4


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no SIGALRM")
def test_a_handler_that_raises_ends_the_work_below_the_call_that_waited(alarm):
    rung = threading.Event()

    def inner():
        with Deadline.after(20.0).alarm(rung.set):
            rung.wait(20.0)

    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(AlarmError):
        in_threads([lambda: in_threads([inner], 1)], 1)
    assert rung.wait(2.0)
    assert not Deadline.after(20.0).passed
