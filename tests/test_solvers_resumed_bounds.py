"""`branch_and_bound` in several runs: each resumes the search of the last one."""

import math

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, instances, solve, solver_class
from solvers.algorithms.branch_and_bound import search as dense_search
from solvers.algorithms.branch_and_bound.search import DenseSearch, search_dense
from solvers.solving.bits.sparse_turns import turns
from solvers.testing import enumerate_scores

few = examples(40)


def dense_problem(n, seed, field=True):
    random = np.random.default_rng(seed)
    pairwise = np.triu(2.0 * random.integers(-9, 10, (n, n)), 1)
    unary = -(pairwise + pairwise.T).sum(axis=1) / 2
    if field:
        unary += random.integers(-9, 10, n)
    return Problem.from_arrays(unary, pairwise)


def spins(graph, seed):
    """Couplings of +1 and -1 on a graph."""
    edges = np.array(nx.convert_node_labels_to_integers(graph).edges)
    couplings = np.random.default_rng(seed).choice([-4.0, 4.0], len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(couplings / 2, 2), len(graph))
    return Problem.from_arrays(unary, couplings, edges=edges)


@few
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_a_paused_search_ends_at_a_maximiser(seed, n, field):
    problem = dense_problem(n, seed, field)
    scores = enumerate_scores(problem)[0]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    paused = solver_class("branch_and_bound")().paused()
    cut_off = paused.solve(problem, 1e-9)
    assert cut_off.score <= scores.max() <= cut_off.bound
    worst = paused.with_options(start=states[scores.argmin()]).solve(problem)
    assert worst.optimal
    assert worst.score == scores.max()
    assert paused.solve(problem, 1e-9).score == scores.max()


@pytest.mark.parametrize("triangles", [False, True])
@pytest.mark.parametrize("field", [False, True])
def test_runs_resume_the_search_and_never_raise_its_bound(triangles, field, limits, monkeypatch):
    problem = dense_problem(45, 0, field)
    limits(work_per_call=1)
    if triangles:
        limits(calls_before_forecast=1, triangle_seconds=0.0, leaf_variables=4, probe_nodes=1)
    else:
        limits(triangle_seconds=1e6)
    z, expected, nodes = search_dense(problem, Deadline.after(None))
    begun = []
    strong_tree = dense_search.StrongTree
    monkeypatch.setattr(
        dense_search, "StrongTree", lambda *given: begun.append(given) or strong_tree(*given)
    )
    search = DenseSearch(problem, Deadline.after(None))
    least = search.score_bound
    runs = 0
    while not search.finished:
        search.run(Deadline.after(0.01))
        assert search.score_bound <= least
        least = search.score_bound
        runs += 1
    assert runs > 1
    assert problem.score_flat(search.z[None]) == problem.score_flat(z[None])
    assert least == expected
    assert search.nodes < 2 * nodes + 100
    assert len(begun) <= 1


def test_a_root_that_the_deadline_cut_off_is_bounded_in_the_next_run(monkeypatch):
    # Depth first alone, whose bound stays that of its root.
    monkeypatch.setattr(dense_search, "FIRST_SHARE", 1.0)
    monkeypatch.setattr(dense_search, "FIRST_CALLS", 10**9)
    problem = dense_problem(200, 0)
    search = DenseSearch(problem, Deadline.after(None))
    search.run(Deadline.after(-1.0))
    cut_off = search.score_bound
    assert cut_off < math.inf
    search.run(Deadline.after(1.0))
    fresh = DenseSearch(problem, Deadline.after(None))
    fresh.run(Deadline.after(1.0))
    assert search.score_bound == fresh.score_bound < cut_off


def test_a_state_of_another_backend_is_kept():
    problem = dense_problem(30, 1)
    best = solve(problem, solver="branch_and_bound")
    search = DenseSearch(problem, Deadline.after(None), np.zeros(30, np.int8))
    search.offer(best.z)
    assert problem.score_flat(search.z[None]) == best.score
    search.offer(np.zeros(30, np.int8))
    assert problem.score_flat(search.z[None]) == best.score


def test_a_problem_without_scores_needs_no_search():
    problem = Problem.from_arrays(np.zeros(3), np.zeros((3, 3)))
    solution = solver_class("branch_and_bound")().paused().solve(problem)
    assert solution.optimal
    assert solution.score == solution.bound == 0


def test_auto_searches_a_part_by_convex_bounds_in_runs_that_share_one_search():
    problem = spins(nx.random_regular_graph(8, 100, seed=0), 0)
    solvers = [turn.solver for turn in turns(problem, Deadline.after(None))]
    convex = [solver for solver in solvers if solver.name == "branch_and_bound"]
    assert len(convex) > 1
    assert len({id(solver.runs) for solver in convex}) == 1


def test_instances_of_a_batch_are_searched_apart():
    problem = instances.dense(25, 3, np.random.default_rng(0)).problem()
    together = solve(problem, solver="branch_and_bound")
    assert together.optimal.all()
    for b in range(3):
        alone = problem.instances(slice(b, b + 1))
        assert solver_class("branch_and_bound")().paused().solve(alone).score == together.score[b]
