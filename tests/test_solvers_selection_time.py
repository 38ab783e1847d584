"""The choice of a solver takes a share of the time limit."""

import time

import numpy as np
import pytest

from solvers import Deadline, Problem, labels, select_solver, solve
from solvers.limits.deadline import preparation, preparing


def grid(side):
    """The pairs of a square grid."""
    place = np.arange(side * side).reshape(side, side)
    across = np.stack((place[:, :-1], place[:, 1:]), axis=-1).reshape(-1, 2)
    down = np.stack((place[:-1], place[1:]), axis=-1).reshape(-1, 2)
    return np.concatenate((across, down))


def random_pairs(generator, n, degree):
    """Distinct random pairs of n variables."""
    pairs = np.sort(generator.integers(0, n, (n * degree // 2, 2)), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def test_an_order_that_is_not_found_in_time_is_not_remembered_as_none():
    edges = grid(6)
    signs = np.resize([1.0, -1.0, -1.0], len(edges))
    problem = Problem.from_arrays(np.ones(36), signs, edges=edges)
    with preparing(Deadline.after(1e-9)):
        assert select_solver(problem).solver.name != "elimination"
    assert select_solver(problem).solver.name == "elimination"


def test_without_a_limit_the_choice_has_none():
    assert preparation() is None
    with preparing(None):
        assert preparation() is None
    with preparing(Deadline.after(10.0)):
        assert 1.0 < preparation().left <= 2.0
    assert preparation() is None


@pytest.mark.spread(2)
@pytest.mark.parametrize("degree", [4, 20])
@pytest.mark.parametrize("solver", ["auto", "bits"])
def test_labels_keep_a_limit_that_is_shorter_than_the_search_for_an_order(solver, degree):
    generator = np.random.default_rng(0)

    def timed(n):
        edges = random_pairs(generator, n, degree)
        tables = generator.standard_normal((len(edges), 4, 4))
        scores = generator.standard_normal((n, 4))
        begin = time.thread_time(), time.process_time()
        labels.solve(scores, tables, edges=edges, solver=solver, time_limit=0.3)
        return time.thread_time() - begin[0], time.process_time() - begin[1]

    timed(300)  # loaded
    here, everywhere = timed(5000)
    assert here < 0.5
    assert everywhere < 0.9


def test_bits_keep_a_limit_that_is_shorter_than_the_search_for_an_order():
    generator = np.random.default_rng(1)

    def timed(n):
        edges = random_pairs(generator, n, 20)
        scores = generator.standard_normal(n), generator.standard_normal(len(edges))
        begin = time.process_time()
        solve(*scores, edges=edges, time_limit=0.3)
        return time.process_time() - begin

    timed(300)
    assert timed(8000) < 0.9
