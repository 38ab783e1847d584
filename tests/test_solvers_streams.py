"""Streams of problems: order, failures, dead workers, a cluster."""

import os
import signal

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Failure,
    Maximiser,
    Problem,
    UnsupportedProblemError,
    solve_many,
)
from solvers.instances import dense


def stream(count, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield dense(int(generator.integers(2, 12)), 2, generator).problem()


def best_scores(count):
    return [problem_best(problem) for problem in stream(count)]


def problem_best(problem):
    states = (np.arange(2**problem.n)[:, None] >> np.arange(problem.n)) & 1
    pairs = states[:, problem.edges[:, 0]] * states[:, problem.edges[:, 1]]
    return (problem.unary @ states.T + problem.pairwise @ pairs.T).max(axis=1)


@pytest.fixture(autouse=True)
def _own_worker_processes():
    """joblib keeps its worker processes for the next caller. A later test waited forever for one of them that had
    ended while it imported torch (joblib 1.6.0)."""
    yield
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


@pytest.mark.spread(1)
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_order_is_kept(backend):
    with joblib.parallel_config(backend=backend):
        answers = list(solve_many(stream(40), jobs=2))
    for answer, best in zip(answers, best_scores(40), strict=True):
        np.testing.assert_allclose(answer.score, best, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*tasks have been successfully executed:UserWarning")
def test_the_stream_is_read_as_it_is_needed():
    drawn = []

    def endless():
        for problem in stream(10**9):
            drawn.append(problem)
            yield problem

    answers = solve_many(endless(), jobs=2)
    next(answers)
    assert len(drawn) < 1000
    answers.close()


WINDOW = 256
"""Problems that are read before the first answer."""


@pytest.mark.parametrize("given", [0, 3, WINDOW, WINDOW + 3])
def test_what_a_broken_stream_gave_is_solved_before_it_raises(given):
    def broken():
        for value in range(given):
            yield Problem.from_arrays([float(value), -1.0])
        raise OSError("the disk is gone")

    scores = []
    with pytest.raises(OSError, match="the disk is gone"):
        scores.extend(float(answer.score) for answer in solve_many(broken(), jobs=2))
    assert scores == list(map(float, range(given)))


def test_a_failure_names_its_problem_and_its_reason():
    problems = [
        Problem.from_arrays(np.ones(3)),
        Problem.from_arrays(np.ones(2), [[0, -1.0], [0, 0]]),
    ]
    good, bad = solve_many(problems, solver="independent")
    assert good.optimal
    assert isinstance(bad, Failure)
    assert bad.index == 1
    assert isinstance(bad.error, UnsupportedProblemError)


class Deadly(ArgmaxSolver):
    """Kills its process on problems of five variables."""

    name = "deadly"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        if problem.n == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return Maximiser(
            np.zeros((problem.batch, problem.n), np.int8), np.full(problem.batch, np.inf)
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A worker stopped:UserWarning")
def test_a_dead_worker_costs_one_problem():
    sizes = [3, 4, 5, 6, 7, 5, 8]
    with joblib.parallel_config(backend="loky"):
        answers = list(
            solve_many([Problem.from_arrays(np.ones(n)) for n in sizes], solver=Deadly(), jobs=2)
        )
    failed = [answer.index for answer in answers if isinstance(answer, Failure)]
    assert failed == [2, 5]
    assert [a.z.shape[-1] for a in answers if not isinstance(a, Failure)] == [3, 4, 6, 7, 8]


@pytest.mark.slow
def test_a_local_dask_cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        answers = list(solve_many(stream(20), jobs=-1))
    for answer, best in zip(answers, best_scores(20), strict=True):
        np.testing.assert_allclose(answer.score, best, rtol=1e-12)
