"""What "auto" takes for labels: the choice costs little, and the answer is worth its time."""

import itertools
import time
import tracemalloc
import types

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

import solvers.limits.deadline
from solvers import SolverError, UnsupportedProblemError, select_solver, solver_class
from solvers.constraints import at_most
from solvers.labels import LabelProblem, solve
from solvers.labels.indicators import rows_of


def dense_edges(n):
    return np.array(list(itertools.combinations(range(n), 2)))


def chain_edges(n):
    return np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)


def grid_edges(side):
    cells = np.arange(side**2).reshape(side, side)
    down = np.stack((cells[:-1], cells[1:]), axis=-1).reshape(-1, 2)
    right = np.stack((cells[:, :-1], cells[:, 1:]), axis=-1).reshape(-1, 2)
    return np.concatenate((down, right))


def random_problem(n, k, edges, seed=0):
    random = np.random.default_rng(seed)
    unary = random.standard_normal((n, k))
    return LabelProblem.from_arrays(unary, random.standard_normal((len(edges), k, k)), edges=edges)


def convex_problem(n, k, edges):
    """A stereo-like problem: values of neighbours cost the square of their difference."""
    unary = np.random.default_rng(1).standard_normal((n, k)) * k
    values = np.arange(k)
    table = -((values[:, None] - values) ** 2) / 4.0
    return LabelProblem.from_arrays(unary, table, edges=edges)


def traced(call):
    """Return what a call returns, and the largest memory that it took, in bytes."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_bytes(call):
    return traced(call)[1]


def test_a_long_chain_of_many_values_is_eliminated():
    problem = random_problem(300, 130, chain_edges(300))
    assert solve(problem).solver == "elimination"
    assert solve(problem, time_limit=30.0).optimal


def test_the_choice_for_dense_tables_writes_no_bits():
    problem = random_problem(40, 30, dense_edges(40))
    select_solver(problem)
    tables = problem.tables.nbytes
    # The bits of these labels take several times the memory of the tables.
    assert peak_bytes(lambda: select_solver(problem)) < tables / 4


def test_constraints_on_the_bits_that_auto_solves_write_no_bits():
    problem = random_problem(40, 30, dense_edges(40))
    bits = solver_class("bits", "labels")()
    rows = rows_of([at_most(1, [(0, 1)])], problem)
    assert peak_bytes(lambda: bits.why_not_within(problem, rows)) < problem.tables.nbytes / 4


def test_the_time_limit_ends_the_writing_of_labels_as_bits():
    problem = convex_problem(400, 40, grid_edges(20))

    def cut(seconds):
        return solve(problem, solver="max_flow", time_limit=seconds)

    late = cut(1e-4)
    assert late.solver == "bits"
    assert not late.optimal
    ended, memory = traced(lambda: cut(60))
    assert ended.solver == "max_flow"
    assert late.score <= ended.score <= late.bound
    # The bits of all labels take ten times the memory of the first few.
    assert peak_bytes(lambda: cut(1e-4)) < memory / 4
    start = np.full(400, 7)
    assert solve(problem, solver="max_flow", start=start, time_limit=1e-4).score >= problem.score(
        start
    )


def test_a_start_that_satisfies_the_constraints_is_an_answer_without_bits():
    problem = convex_problem(400, 40, grid_edges(20))
    start = np.full(400, 7)
    allowed = at_most(1, [(0, 3), (1, 7)])
    late = solve(problem, constraints=[allowed], start=start, time_limit=1e-4)
    assert late.score >= problem.score(start)
    assert late.score <= late.bound
    refused = at_most(0, [(i, value) for i in range(2) for value in range(40)])
    with pytest.raises(SolverError):
        solve(problem, constraints=[refused], start=start, time_limit=1e-4)


def test_a_solver_of_bits_that_cannot_take_them_says_why():
    problem = random_problem(30, 3, dense_edges(30))
    with pytest.raises(UnsupportedProblemError, match="by max_flow of its 60 bits: pairwise"):
        solve(problem, solver="max_flow")
    with pytest.raises(UnsupportedProblemError, match="by max_flow of its 60 bits: pairwise"):
        solve(problem, solver="max_flow", constraints=[at_most(1, [(0, 1)])])
    with pytest.raises(UnsupportedProblemError, match="by dual_ascent of its 60 bits: it takes no"):
        solve(problem, solver=solver_class("dual_ascent")(), constraints=[at_most(1, [(0, 1)])])


def test_a_cut_that_may_take_longer_than_the_limit_leaves_its_time_to_a_search():
    problem = convex_problem(64, 40, grid_edges(8))
    assert "max_flow" in solve(problem).solver
    limited = solve(problem, time_limit=0.05)
    assert "max_flow" not in limited.solver
    assert limited.bound >= limited.score


@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_a_cut_is_taken_exactly_where_the_bits_allow_one(seed):
    random = np.random.default_rng(seed)
    n = 18  # too many for tables of an elimination
    batch = int(random.integers(1, 3))
    edges = dense_edges(n)
    sizes = random.integers(2, 5, n)
    sizes[:3] = 4
    corners = random.uniform(0.0, 2.0, (batch, len(edges), 4, 4)).cumsum(2).cumsum(3)
    if random.random() < 0.2:
        corners = corners.round()
    # Reversed values turn the sign of the second differences.
    turned = random.random(n) < 0.5
    for edge, (i, j) in enumerate(edges):
        if turned[i]:
            corners[:, edge, : sizes[i]] = corners[:, edge, : sizes[i]][:, ::-1]
        if turned[j]:
            corners[:, edge, :, : sizes[j]] = corners[:, edge, :, : sizes[j]][:, :, ::-1]
    spoilt = random.integers(4)
    if spoilt == 1:
        corners[-1, random.choice([0, -1])] *= -1.0
    if spoilt == 2:
        corners[0, random.integers(len(edges)), 0, random.integers(2)] = -np.inf
    problem = LabelProblem.from_arrays(
        random.standard_normal((batch, n, 4)), corners, edges=edges, sizes=sizes
    )
    cut = solver_class("bits", "labels")("max_flow")
    chosen = select_solver(problem).solver
    assert (chosen == cut) == (not cut.why_not(problem))


SHAPES = {
    "dense, 20 values": (100, 20, dense_edges(100), 0.4),
    "dense, 40 values": (60, 40, dense_edges(60), 0.5),
    "grid": (144, 30, grid_edges(12), 0.4),
    "chain": (300, 130, chain_edges(300), 0.3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_auto_is_as_good_as_a_search_in_equal_time(shape, monkeypatch):
    n, k, edges, seconds = SHAPES[shape]
    problem = random_problem(n, k, edges)
    # Limits count the time of this process alone, so that others on the machine do not matter.
    clock = types.SimpleNamespace(monotonic=time.process_time)
    monkeypatch.setattr(solvers.limits.deadline, "time", clock)
    solve(problem, solver="dual_ascent", time_limit=1e-3)  # loads what it needs
    auto = solve(problem, time_limit=seconds)
    for name in ("dual_ascent", "expansion_moves"):
        searched = solve(problem, solver=name, time_limit=seconds)
        assert auto.score >= 0.9 * searched.score, name
