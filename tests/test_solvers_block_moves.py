"""Moves of blocks reach what flips of single variables miss, and never lose."""

import time

import numpy as np

from solvers import Problem, instances, solver_class
from solvers.block_moves import block_moves


def test_a_long_ladder_is_solved_from_zeros():
    problem = instances.spin_glass(60, 6, 1, np.random.default_rng(0)).problem()
    best = solver_class("elimination")().solve(problem)
    z, random = np.zeros(problem.n, np.int8), np.random.default_rng(1)
    for _ in range(60):  # of which an idle machine needs one
        z = block_moves(problem, z, random, time.monotonic() + 1)
        if abs(problem.score(z[None])[0] - best.score[0]) <= problem.rounding[0]:
            return
    raise AssertionError(f"{problem.score(z[None])[0]} of {best.score[0]} reached")


def test_no_time_leaves_the_start():
    problem = instances.spin_glass(15, 15, 1, np.random.default_rng(2)).problem()
    start = np.random.default_rng(3).integers(0, 2, problem.n).astype(np.int8)
    np.testing.assert_array_equal(
        block_moves(problem, start, np.random.default_rng(0), time.monotonic() - 1), start
    )


def test_the_kept_answer_never_falls_below_the_start():
    problem = instances.spin_glass(20, 20, 1, np.random.default_rng(4)).problem()
    start = solver_class("elimination")().solve(problem).z[0]
    z = block_moves(problem, start, np.random.default_rng(5), time.monotonic() + 0.3)
    assert problem.score(z[None])[0] >= problem.score(start[None])[0]


def test_local_search_uses_blocks_on_every_instance_of_a_batch():
    drawn = instances.spin_glass(40, 8, 3, np.random.default_rng(6))
    problem = Problem.from_arrays(drawn.unary, drawn.pairwise, edges=drawn.edges)
    best = solver_class("elimination")().solve(problem)
    seconds = [1.0, 4.0, 16.0, 64.0]  # of which an idle machine needs the first
    for found in (solver_class("local_search")().solve(problem, limit) for limit in seconds):
        assert not found.optimal.any()
        if (np.abs(found.score - best.score) <= problem.rounding).all():
            return
    raise AssertionError(f"{found.score} of {best.score} reached")
