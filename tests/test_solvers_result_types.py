"""What kind of numbers answers are made of: plain ones for one instance, by every route."""

import math

import numpy as np
import pytest
from optional import optional

from solvers import Problem, prepare, solve, solve_labels, solve_many, solver_class
from solvers.conversions import from_qubo

torch = optional("torch")

MODEL = from_qubo({("a", "a"): -1.0, ("b", "b"): 2.5})
UNARY = [1.0, -2.0]
ROUTES = {
    "arrays": lambda: solve(UNARY),
    "tensors": lambda: solve(torch.tensor(UNARY)),
    "float32": lambda: solve(np.float32(UNARY)),
    "problem": lambda: solve(Problem.from_arrays(UNARY)),
    "solver": lambda: solver_class("exhaustive")().solve(Problem.from_arrays(UNARY)),
    "search": lambda: solve(UNARY, solver="branch_and_bound", start=[0, 1]),
    "fixed": lambda: solve(UNARY, fix={1: 0}),
    "all fixed": lambda: solve(UNARY, fix=[1, 0]),
    "conversion": lambda: solve(MODEL).solution,
    "several": lambda: solve(MODEL, k_best=3)[1].solution,
    "labels": lambda: solve_labels([[0.0, 1.0], [2.0, 0.0]]),
    "bits of labels": lambda: solve_labels([[0.0, 1.0, 0.0]], solver="bits"),
    "prepared": lambda: prepare([[0, 1]], 2)(UNARY, [1.0]),
    "stream": lambda: next(iter(solve_many([Problem.from_arrays(UNARY)]))),
    "empty": lambda: solve([]),
}


@pytest.mark.parametrize("route", ROUTES)
def test_the_numbers_of_one_instance_are_pythons_own_by_every_route(route):
    solution = ROUTES[route]()
    numbers = (solution.score, solution.bound, solution.gap, solution.optimal)
    assert [type(number) for number in numbers] == [float, float, float, bool]
    assert solution.gap == solution.bound - solution.score


def test_a_callback_hears_plain_numbers_of_one_instance():
    heard = []
    generator = np.random.default_rng(0)
    couplings = np.triu(generator.standard_normal((120, 120)), 1)

    def hear(progress):
        heard.append(progress)
        return True

    solve(np.zeros(120), couplings, solver="branch_and_bound", callback=hear, time_limit=5)
    assert {(type(one.score), type(one.bound)) for one in heard} == {(float, float)}


def test_batches_keep_arrays_with_a_gap_of_their_kind():
    batch = solve(torch.tensor([UNARY, UNARY]))
    assert batch.gap.tolist() == [0.0, 0.0]
    assert isinstance(batch.gap, torch.Tensor)
    states = solve([1.0], k_best=3)
    assert states.gap.tolist() == [0.0, 0.0, 0.0]  # the last row has no state and no bound
    frustrated = Problem.from_arrays(
        -np.ones((2, 3)), [2.0, 2.0, -3.0], edges=[[0, 1], [1, 2], [0, 2]]
    )
    open_ = solve(frustrated, solver="local_search")
    assert (open_.gap == open_.bound - open_.score).all()
    assert (open_.gap > 0).all()


def test_seconds_are_those_of_the_call():
    answer = solve(MODEL)
    assert 0 < answer.seconds == answer.solution.seconds < 60
    assert answer.gap == 0.0
    several = solve(MODEL, k_best=2)
    assert several[0].seconds == several[1].seconds > 0
    assert several.to_pandas()["seconds"].tolist() == [one.seconds for one in several]
    alone = solver_class("exhaustive")().solve(MODEL.problem)
    assert math.isnan(alone.seconds)
    assert repr(alone).splitlines()[0] == "Solution, n = 2"
    labels = solve_labels([[0.0, 1.0], [2.0, 0.0]], k_best=2).to_pandas()
    assert labels[["z 0", "z 1"]].to_numpy().tolist() == [[1, 0], [0, 0]]
