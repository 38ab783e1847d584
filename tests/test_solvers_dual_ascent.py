"""Bounds by messages: never below a maximum, exact to the last bit, and a search that ends at a maximiser."""

import time
from dataclasses import replace

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    Deadline,
    OptionError,
    Problem,
    instances,
    select_solver,
    solver_class,
)
from solvers.algorithms.dual_ascent.search import DualSearch
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.compiled._kernels import dual_ascent as kernels
from solvers.compiled.graphs import neighbour_lists
from solvers.instances import Instances
from solvers.testing import enumerate_scores

FREE = -1

SEEDS = st.integers(0, 2**32 - 1)
few = examples(60)


def drawn(n, seed, density=0.5):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.random(len(edges)) < density]
    return Instances(
        random.integers(-9, 10, (1, n)), random.integers(-9, 10, (1, len(edges))), edges
    )


def graph_of(one):
    n, edges = one.unary.shape[1], np.ascontiguousarray(one.edges)
    starts, near, edge = neighbour_lists(n, edges)
    side = (edges[edge, 0] != np.repeat(np.arange(n), np.diff(starts))).astype(np.int64)
    return starts, near, edge, side, np.ascontiguousarray(one.pairwise[0])


def bound_of(one, state, field, message, constant):
    """By its definition."""
    total = constant + sum(
        max(0, h) for h, z in zip(field.tolist(), state.tolist(), strict=True) if z == FREE
    )
    for e, (i, j) in enumerate(one.edges.tolist()):
        if state[i] == state[j] == FREE:
            a, b = message[e].tolist()
            total += max(0, -a, -b, int(one.pairwise[0, e]) - a - b)
    return total


def highest(one, state):
    """Over all states that agree with those that are fixed."""
    n = len(state)
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    agree = ((state == FREE) | (states == state)).all(axis=1)
    return enumerate_scores(one)[0, agree].max()


@few
@given(SEEDS, st.integers(1, 9), st.integers(0, 2**9 - 1))
def test_sweeps_and_fixed_variables_keep_the_bound_exact(seed, n, values):
    one, nobody = drawn(n, seed), np.iinfo(np.int64).min // 2
    graph, state = graph_of(one), np.full(n, FREE, np.int8)
    field, message = one.unary[0].copy(), np.zeros((len(one.edges), 2), np.int64)
    constant, bound = 0, bound_of(one, state, field, message, 0)
    for i in range(n):
        for forward in (True, False):
            before = bound
            constant, bound = kernels.sweep(
                *graph, state, field, message, forward, constant, bound, nobody
            )
            assert highest(one, state) <= bound <= before
            assert bound == bound_of(one, state, field, message, constant)
        value = values >> i & 1
        constant, bound = kernels.fix(i, value, *graph, state, field, message, constant, bound)
        assert bound == bound_of(one, state, field, message, constant) >= highest(one, state)
    assert bound == constant == highest(one, state)


@few
@given(SEEDS, st.integers(1, 9), st.integers(-3, 3))
def test_what_a_sweep_fixes_is_fixed_in_all_better_states(seed, n, margin):
    one = drawn(n, seed)
    graph, state = graph_of(one), np.full(n, FREE, np.int8)
    field, message = one.unary[0].copy(), np.zeros((len(one.edges), 2), np.int64)
    scores = enumerate_scores(one)[0]
    known = int(scores.max()) + margin
    first = bound_of(one, state, field, message, 0)
    _, bound = kernels.sweep(*graph, state, field, message, True, 0, first, known)
    if bound <= known:
        assert scores.max() <= known
    for s in np.flatnonzero(scores > known):
        z = s >> np.arange(n) & 1
        assert ((state == FREE) | (state == z)).all()


@few
@given(SEEDS, st.integers(1, 10), st.sampled_from([0.2, 0.6, 1.0]))
def test_a_search_ends_at_a_maximiser(seed, n, density):
    one = drawn(n, seed, density)
    search = DualSearch(FixedPoint.of(one.problem()), np.zeros(n, np.int8))
    search.run(Deadline.after(None))
    assert one.problem().score(search.z[None])[0] == enumerate_scores(one).max()


@pytest.mark.parametrize("seed", range(20))
def test_a_search_that_stops_after_any_node_has_a_bound(seed, limits):
    limits(visits_per_call=1)
    one = drawn(10, seed, 1.0)
    pull = np.bincount(one.edges.ravel(), np.repeat(one.pairwise[0], 2), 10)
    one = replace(one, unary=-(pull // 2)[None])  # a field would decide too much at the root
    scores, maximum = FixedPoint.of(one.problem()), enumerate_scores(one).max()
    search = DualSearch(scores, np.zeros(10, np.int8))
    bounds = []
    while not search.finished:
        search.run(Deadline.after(None), 1)
        bounds.append(search.bound * scores.unit[0])
    assert len(bounds) > 3
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == maximum


def test_a_search_takes_what_is_better_than_its_own():
    one = drawn(6, 1)
    order = enumerate_scores(one)[0].argsort()
    worst, middle, best = ((order[k] >> np.arange(6) & 1).astype(np.int8) for k in (0, 40, -1))
    search = DualSearch(FixedPoint.of(one.problem()), middle)
    for offered, kept in ((worst, middle), (best, best), (middle, best)):
        search.offer(offered)
        np.testing.assert_array_equal(search.z, kept)


def test_a_deep_search_gets_a_larger_stack(limits):
    limits(search_depth=2)
    problem, solver = spins(30, 6, np.random.default_rng(0)), solver_class("dual_ascent")()
    best = solver.solve(problem)
    assert best.optimal.all()
    limits(stack_bytes=1)
    found = solver.solve(problem)
    assert not found.optimal.any()
    assert (found.bound >= best.score).all()


def spins(n, degree, generator):
    """A random graph without a field, which roof duality leaves as it is."""
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[generator.choice(len(edges), n * degree // 2, replace=False)]
    weights = generator.standard_normal(len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(weights / 2, 2), n)
    return Problem.from_arrays(unary[None], weights[None], edges=edges)


def test_a_sparse_problem_of_high_treewidth_is_proved():
    problem = spins(140, 4, np.random.default_rng(1))
    selection = select_solver(problem)
    assert "mean degree 4" in selection.reason
    found = selection.solver.solve(problem)
    assert found.optimal.all()
    better = solver_class("local_search")().solve(problem, 0.3)
    assert (better.score <= found.score + problem.rounding).all()


def test_a_grid_agrees_with_elimination():
    problem = instances.spin_glass(12, 12, 3, np.random.default_rng(2)).problem()
    found, other = (solver_class(name)().solve(problem) for name in ("dual_ascent", "elimination"))
    assert found.optimal.all()
    assert (np.abs(found.score - other.score) <= 2 * problem.rounding).all()


def test_a_search_of_few_visits_ends_with_a_bound_and_no_proof():
    problem = spins(80, 6, np.random.default_rng(1))
    few, alone = (solver_class("dual_ascent")(visits=visits).solve(problem) for visits in (1, None))
    assert alone.optimal.all()
    assert not few.optimal.any()
    assert (few.bound >= alone.score - problem.rounding).all()
    with pytest.raises(OptionError, match="visits"):
        solver_class("dual_ascent")(visits=0)


@pytest.mark.parametrize("seconds", [1e-3, 0.05])
def test_a_time_limit_leaves_a_valid_bound(seconds):
    problem = spins(400, 6, np.random.default_rng(3))
    start = time.monotonic()
    found = solver_class("dual_ascent")().solve(problem, seconds)
    assert time.monotonic() - start < 20
    assert not found.optimal.any()
    longer = solver_class("local_search")().solve(problem, 0.3)
    assert (found.bound >= longer.score).all()
