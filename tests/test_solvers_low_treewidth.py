"""Elimination orders, max-sum and sum-product on graphs of low treewidth."""

import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import networkx as nx
import numpy as np
import pytest

from solvers import (
    Deadline,
    Problem,
    SolveInterrupted,
    UnsupportedProblemError,
    gibbs,
    interrupt_solves,
    solve,
    solver_class,
)
from solvers.algorithms.elimination.plan import cached_plan
from solvers.algorithms.elimination.treewidth import Widths
from solvers.instances import spin_glass, tree
from solvers.limits import memory

module = importlib.import_module("solvers.algorithms.elimination.max_sum")
backend = importlib.import_module("solvers.backends.elimination")


def edges_of(graph):
    numbered = nx.convert_node_labels_to_integers(graph)
    return np.sort(np.array(numbered.edges, np.int64).reshape(-1, 2), axis=1)


GRAPHS = {
    "path": nx.path_graph(9),
    "star": nx.star_graph(9),
    "cycle": nx.cycle_graph(9),
    "grid": nx.grid_2d_graph(3, 4),
    "complete": nx.complete_graph(7),
    "two parts": nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(5)),
    "no edges": nx.empty_graph(5),
    "one variable": nx.empty_graph(1),
}
WIDTHS = {
    "path": 1,
    "star": 1,
    "cycle": 2,
    "grid": 3,
    "complete": 6,
    "two parts": 2,
    "no edges": 0,
    "one variable": 0,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_sum_product_equals_enumeration(name):
    graph = GRAPHS[name]
    n, edges = len(graph), edges_of(graph)
    generator = np.random.default_rng(0)
    unary, pairwise = (
        generator.standard_normal((3, n)),
        2 * generator.standard_normal((3, len(edges))),
    )
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    both = states[:, edges[:, 0]] * states[:, edges[:, 1]]
    score = unary @ states.T + pairwise @ both.T
    log_z = np.log(np.exp(score).sum(axis=1))
    probability = np.exp(score - log_z[:, None])
    found = gibbs(unary, pairwise, edges=edges, method="elimination")
    np.testing.assert_allclose(found.log_partition, log_z, rtol=1e-12)
    marginals = np.concatenate((found.unary_marginals, found.pairwise_marginals), axis=1)
    expected = probability @ np.concatenate((states, both), axis=1)
    np.testing.assert_allclose(marginals, expected, rtol=1e-10)


@pytest.mark.parametrize("name", GRAPHS)
def test_width(name):
    graph = GRAPHS[name]
    edges = edges_of(graph)
    unary, pairwise = np.ones((2, len(graph))), np.ones((2, len(edges)))
    solution = solve(unary, pairwise, edges=edges, solver="elimination")
    assert solution.stats["width"] == WIDTHS[name]


def test_the_width_is_not_searched_again_for_other_limits():
    bound = solver_class("elimination").treewidth_bound
    edges = edges_of(nx.grid_2d_graph(6, 7))
    problem = Problem.from_arrays(np.ones(42), np.ones(len(edges)), edges=edges)
    assert bound(problem.topology, 4) is None
    assert bound(problem.topology, 8) == 6
    limits = (3, 4, 5, 6, 8, 20)
    assert [bound(problem.topology, limit) for limit in limits] == [None, None, None, 6, 6, 6]
    assert problem.topology.recall(Widths).searched == ((4, None), (8, 6))


@pytest.mark.parametrize("batch", [1, 3, 40])
def test_relabelled_grids_have_the_same_maximum(batch):
    generator = np.random.default_rng(1)
    drawn = spin_glass(10, 9, batch, generator)
    n = drawn.unary.shape[1]
    order = generator.permutation(n)
    place = np.argsort(order)
    plain = solve(drawn.unary, drawn.pairwise, edges=drawn.edges, solver="elimination")
    moved = np.sort(place[drawn.edges], axis=1)
    other = solve(drawn.unary[:, order], drawn.pairwise, edges=moved, solver="elimination")
    assert plain.optimal.all()
    assert other.optimal.all()
    np.testing.assert_allclose(plain.score, other.score, rtol=1e-12)


def test_batch_of_large_trees_equals_one_by_one():
    drawn = tree(500, 20, np.random.default_rng(2))
    together = solve(drawn.unary, drawn.pairwise, edges=drawn.edges, solver="elimination")
    assert together.optimal.all()
    for one in (0, 7, 19):
        alone = solve(drawn.unary[one], drawn.pairwise[one], edges=drawn.edges, solver="max_flow")
        assert float(alone.score) == pytest.approx(float(together.score[one]), rel=1e-12)


def test_wide_graphs_are_refused():
    generator = np.random.default_rng(3)
    edges = edges_of(nx.complete_graph(40))
    problem = Problem.from_arrays(np.ones(40), generator.standard_normal(len(edges)), edges=edges)
    with pytest.raises(UnsupportedProblemError, match="width 30"):
        solver_class("elimination")().solve(problem)


def test_no_memory_makes_up_for_a_width_above_30(free_memory):
    free_memory(2**62)
    edges = edges_of(nx.complete_graph(33))
    problem = Problem.from_arrays(np.ones(33), np.ones(len(edges)), edges=edges)
    with pytest.raises(
        UnsupportedProblemError, match="no elimination order of width 30 or less was found"
    ):
        solver_class("elimination")().solve(problem)


def test_tables_take_a_share_of_the_free_memory_at_most(free_memory):
    problem = spin_glass(14, 14, 1, np.random.default_rng(0)).problem()
    needed = cached_plan(problem.n, problem.edges).table_bytes
    solver = solver_class("elimination")()
    for free, refused in ((needed / 0.59, False), (needed / 0.61, True)):
        free_memory(free)
        assert bool(solver.why_not(problem)) == refused


@pytest.mark.parametrize(("rows", "batch"), [(20, 3), (4, 4000)])
def test_a_time_limit_ends_the_tables_without_a_claim(rows, batch):
    problem = spin_glass(rows, rows, batch, np.random.default_rng(3)).problem()
    plan = problem.topology.recall(cached_plan)
    _, maxima = module.max_sum(plan, problem.unary, problem.pairwise, 1, Deadline.after(-1.0))
    assert np.isnan(maxima).all() == (rows == 20)
    solution = solver_class("elimination")().solve(problem, time_limit=1e-9)
    assert (solution.bound >= solver_class("elimination")().solve(problem).score).all()
    if rows == 20:
        assert not solution.optimal.any()
        assert np.isinf(solution.bound).all()
        assert (solution.score > problem.score(np.zeros(problem.unary.shape, np.int8))).all()


def test_what_was_done_before_a_time_limit_is_proved(monkeypatch, limits):
    problem = spin_glass(12, 12, 8, np.random.default_rng(3)).problem()
    expected = solver_class("elimination")().solve(problem)
    max_sum = module.max_sum

    def half_done(*arguments):
        z, maxima = max_sum(*arguments)
        maxima[4:] = np.nan
        return z, maxima

    monkeypatch.setattr(backend, "max_sum", half_done)
    limits(long_entries=0)
    solution = solver_class("elimination")().solve(problem)
    assert solution.optimal.tolist() == [True] * 4 + [False] * 4
    assert (solution.bound >= expected.score).all()


def test_an_interrupt_ends_the_tables_and_is_raised():
    problem = spin_glass(20, 20, 40, np.random.default_rng(3)).problem()
    threading.Timer(0.05, interrupt_solves).start()
    with pytest.raises(SolveInterrupted) as stopped:
        solver_class("elimination")(threads=1).solve(problem)
    assert not stopped.value.solution.optimal.all()


def test_large_tables_take_their_turn(limits, free_memory):
    problem = spin_glass(18, 18, 1, np.random.default_rng(3)).problem()
    limits(watched_entries=0.0, long_entries=0, large_bytes=0)
    eliminate = partial(solver_class("elimination")().solve, problem)
    expected, free = eliminate(), memory.free_memory()
    assert expected.optimal.all()
    with memory.turn_of(1 << 33, 1.0) as granted:
        assert granted == (free >= 1 << 33)
        assert memory.memory_in_turn() >= 1 << 33
        with ThreadPoolExecutor(1) as pool:
            waited = pool.submit(eliminate, time_limit=0.2).result()
    assert memory.memory_in_turn() <= free + (1 << 30)
    assert not waited.optimal.any()
    assert eliminate().score == expected.score
    free_memory(1000)
    with memory.turn_of(1001, 1.0) as granted:
        assert not granted


def test_tables_without_a_turn_are_not_filled(limits, monkeypatch):
    limits(long_entries=0, watched_entries=0.0)
    monkeypatch.setattr(module, "turn_of", lambda needed, seconds: nullcontext(False))
    problem = spin_glass(18, 18, 1, np.random.default_rng(3)).problem()
    assert not solver_class("elimination")().solve(problem).optimal.any()


def test_many_components_are_ordered_in_time_of_their_size():
    triangles = np.arange(3 * 4000).reshape(-1, 3)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [0, 2]], triangles[:, [1, 2]]])
    solution = solve(np.ones(3 * 4000), -np.ones(len(edges)), edges=edges, solver="elimination")
    assert solution.stats["width"] == 2
    assert solution.score == 4000
