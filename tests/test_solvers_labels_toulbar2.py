"""toulbar2 in a process of its own: what it is given, how it ends, and what is believed of it."""

import sys
import threading
import time

import numpy as np
import pytest

from solvers import (
    Deadline,
    InfeasibleError,
    SolveFailedError,
    SolveInterrupted,
    interrupt_solves,
    solver_class,
)
from solvers.labels import LabelProblem, solve
from solvers.labels.algorithms.toulbar2 import process
from solvers.labels.algorithms.toulbar2.network import write_network
from solvers.labels.algorithms.whole_scores import WholeScores

installed = not solver_class("toulbar2", "labels").missing_packages()
needs_toulbar2 = pytest.mark.skipif(not installed, reason="needs pytoulbar2")


def hard(n=60, k=8, seed=0):
    """Dense tables, with which no search here ends in seconds."""
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return LabelProblem.from_arrays(
        random.normal(size=(n, k)), random.normal(size=(len(edges), k, k)), edges=edges
    )


def network_of(problem, folder):
    path = folder / "network.wcsp"
    constant = write_network(WholeScores.of(problem), path, Deadline.after(None))
    return constant, path.read_text().split("\n")


def cost(lines, labels):
    """Of an assignment, by what the format's page says."""
    count, top = lines[0].split()[3:]
    rows, total = iter(line.split() for line in lines[2:] if line), 0
    for _ in range(int(count)):
        arity, *rest = map(int, next(rows))
        scope, (default, listed) = rest[:arity], rest[arity:]
        own = default
        for _ in range(listed):
            *values, more = map(int, next(rows))
            own = more if values == [labels[i] for i in scope] else own
        total += own
    return total if total < int(top) else np.inf


@pytest.mark.parametrize("seed", range(8))
def test_costs_are_what_lacks_of_the_constant(seed, tmp_path):
    random = np.random.default_rng(seed)
    edges, sizes = np.array([[0, 1], [2, 1], [0, 2]]), np.array([3, 2, 4])
    unary = random.integers(-9, 9, (3, 4)).astype(float)
    if seed % 2:
        problem = LabelProblem.from_arrays(
            unary, potts=random.integers(-5, 5, 3) * 1.0, edges=edges, sizes=sizes
        )
    else:
        pairwise = random.integers(-9, 9, (3, 4, 4)).astype(float)
        pairwise[random.random(pairwise.shape) < 0.2] = -np.inf
        problem = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)
    scores = WholeScores.of(problem)
    constant, lines = network_of(problem, tmp_path)
    assert lines[1] == "3 2 4"
    for labels in np.ndindex(*sizes):
        assert (constant - cost(lines, labels)) * scores.unit == problem.score(np.array(labels))


def test_a_bound_that_is_no_float_is_rounded_down():
    whole = (1 << 60) + 65
    assert process._whole_below(float(whole)) <= whole
    assert process._whole_below(12.0) == 12
    assert process._whole_below(-1.0) == 0


@needs_toulbar2
def test_a_time_limit_is_kept_and_leaves_labels_and_a_bound():
    problem = hard()
    begin = time.monotonic()
    found = solve(problem, solver="toulbar2", time_limit=2.0)
    assert time.monotonic() - begin < 20
    assert not found.optimal
    assert found.score == problem.score(found.labels) > -np.inf
    assert found.score < found.bound <= problem.magnitude[0]


@pytest.mark.slow
@needs_toulbar2
def test_a_process_that_does_not_listen_is_killed(monkeypatch, tmp_path):
    deaf = tmp_path / "deaf.py"
    deaf.write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('1 0', flush=True)\ntime.sleep(60)"
    )
    monkeypatch.setattr(process.worker, "__file__", str(deaf))
    begin = time.monotonic()
    found = solve(
        [[0.0, 1.0], [0.0, 1.0]], potts=1.0, edges=[[0, 1]], solver="toulbar2", time_limit=1.0
    )
    assert time.monotonic() - begin < 30
    assert not found.optimal
    assert found.labels.tolist() == [1, 0]


@needs_toulbar2
def test_a_process_that_ends_by_itself_is_a_failure(monkeypatch, tmp_path):
    dead = tmp_path / "dead.py"
    dead.write_text("raise SystemExit(3)")
    monkeypatch.setattr(process.worker, "__file__", str(dead))
    with pytest.raises(SolveFailedError, match="status 3"):
        solve([[0.0, 1.0], [0.0, 1.0]], potts=1.0, edges=[[0, 1]], solver="toulbar2")


@needs_toulbar2
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_the_process():
    timer = threading.Timer(3.0, interrupt_solves)
    timer.start()
    with pytest.raises(SolveInterrupted) as stopped:
        solve(hard(), solver="toulbar2", time_limit=120.0)
    timer.join()
    assert stopped.value.solution.bound >= stopped.value.solution.score


@needs_toulbar2
def test_nothing_is_allowed():
    forbidden = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    with pytest.raises(InfeasibleError):
        solve(np.zeros((3, 2)), forbidden, edges=[[0, 1], [1, 2], [0, 2]], solver="toulbar2")
    with pytest.raises(InfeasibleError):
        solve(np.zeros((2, 2)), np.full((2, 2), -np.inf), edges=[[0, 1]], solver="toulbar2")
