"""Mini-buckets that are split: valid bounds at every width, and maximisers whenever a search ends."""

import time

import numpy as np
import pytest

from solvers import Deadline, Problem, solve, solver_class
from solvers.algorithms.elimination.order import min_fill_order
from solvers.algorithms.mini_buckets.plan import mini_bucket_layout
from solvers.algorithms.mini_buckets.search import Search
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.testing import enumerate_scores, random_instances


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 12])
def test_split_buckets_bound_every_score_and_lead_to_a_maximiser(limit):
    split = 0
    for drawn in random_instances(30, 12, np.random.default_rng(limit)):
        whole = drawn.problem()
        maxima = enumerate_scores(drawn).max(axis=1)
        for instance in range(whole.batch):
            unary, pairwise = (
                whole.unary[instance : instance + 1],
                whole.pairwise[instance : instance + 1],
            )
            problem = Problem.from_arrays(unary, pairwise, edges=whole.edges)
            scores, start = FixedPoint.of(problem), np.zeros(problem.n, np.int8)
            order = min_fill_order(problem.n, problem.edges)
            never = Deadline.after(None)
            layout = mini_bucket_layout(problem.n, problem.edges, order, limit, never)
            assert np.diff(layout.scopes).max() <= limit
            split += len(layout.scopes) - 1 > problem.n
            search = Search(layout, scores, start, never)
            tolerance = 2 * problem.rounding[0]
            assert scores.bound(np.array([search.bound]))[0] >= maxima[instance] - tolerance
            search.run(None, never, 3)
            assert search.finished
            assert problem.score(search.z[None])[0] >= maxima[instance] - tolerance
            assert search.bound == scores.score(search.z[None])[0]
    assert bool(split) == (limit < 10)


def lattice(side, generator):
    """A torus of spins without a field, whose treewidth is about twice its side."""
    node = np.arange(side * side).reshape(side, side)
    ends = [np.stack([node.ravel(), np.roll(node, -1, axis).ravel()], axis=1) for axis in (0, 1)]
    edges = np.sort(np.concatenate(ends), axis=1)
    weights = generator.standard_normal(len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(weights / 2, 2), side * side)
    return Problem.from_arrays(unary[None], weights[None], edges=edges)


def test_a_torus_is_proved():
    problem = lattice(11, np.random.default_rng(0))
    found = solver_class("mini_buckets")().solve(problem)
    assert found.optimal.all()
    other = solve(problem.unary, problem.pairwise, edges=problem.edges, solver="elimination")
    assert other.optimal.all()
    assert np.abs(found.score - other.score).max() <= 2 * problem.rounding.max()


def test_a_time_limit_leaves_a_valid_bound():
    problem = lattice(24, np.random.default_rng(1))
    start = time.monotonic()
    found = solve(
        problem.unary, problem.pairwise, edges=problem.edges, solver="mini_buckets", time_limit=0.05
    )
    assert time.monotonic() - start < 20
    assert not found.optimal.any()
    longer = solve(
        problem.unary, problem.pairwise, edges=problem.edges, solver="local_search", time_limit=0.5
    )
    assert (found.bound >= longer.score).all()
