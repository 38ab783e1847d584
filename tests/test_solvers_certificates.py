"""What counts as a proof: a bound within the rounding of two sums, and not a little beyond."""

import numpy as np
import pytest

from solvers import ArgmaxSolver, Capabilities, Maximiser, Problem, SolveFailedError

ROUNDING = 2.0**-46
"""Of the problem below, by hand: 2 * 2^-52 * (2 variables + 1 pair + 1) * (4 + 1 + 3)."""


def problem():
    return Problem.from_arrays([[4.0, -1.0]], [[3.0]], edges=[[0, 1]])


class Claims(ArgmaxSolver):
    """The maximiser, of score 6, with a bound some roundings above it."""

    name = "claims"
    capabilities = Capabilities(exact=True)

    def __init__(self, roundings):
        self.roundings = roundings

    def _argmax(self, problem, time_limit):
        return Maximiser(np.ones((1, 2), np.int8), np.array([6.0 + self.roundings * ROUNDING]))


@pytest.mark.parametrize(
    ("unary", "pairwise", "expected"),
    [
        ([[4.0, -1.0]], [[3.0]], [ROUNDING]),
        ([[4.0, -4.0], [1.0, 0.0]], [[0.0], [-1.0]], [ROUNDING, ROUNDING / 4]),
        ([[4.0, -1.0, 3.0]], None, [ROUNDING]),
    ],
    ids=["a pair", "a batch", "no pair"],
)
def test_the_rounding_is_that_of_two_sums_of_all_terms(unary, pairwise, expected):
    edges = None if pairwise is None else [[0, 1]]
    assert Problem.from_arrays(unary, pairwise, edges=edges).rounding.tolist() == expected


@pytest.mark.parametrize(
    ("roundings", "optimal"), [(0, True), (1, True), (1 + 2.0**-4, False), (2, False), (1e9, False)]
)
def test_a_bound_beyond_the_rounding_is_no_proof(roundings, optimal):
    solution = Claims(roundings).solve(problem())
    assert solution.optimal.tolist() == [optimal]
    assert solution.bound.tolist() == [6.0 + roundings * ROUNDING]


def test_a_bound_that_rounding_put_below_the_score_is_the_score():
    solution = Claims(-1).solve(problem())
    assert (solution.score.tolist(), solution.bound.tolist()) == ([6.0], [6.0])
    assert solution.optimal.all()


@pytest.mark.parametrize("roundings", [-1 - 2.0**-4, -2, -1e9])
def test_a_bound_further_below_the_score_is_a_fault_of_the_solver(roundings):
    with pytest.raises(SolveFailedError, match="instance 0, where it found a state that scores 6"):
        Claims(roundings).solve(problem())


@pytest.mark.parametrize("bound", [None, np.array([6.0])], ids=["no bound", "a bound that it reaches"])
def test_a_heuristic_proves_nothing(bound):
    class Heuristic(ArgmaxSolver):
        name = "heuristic"
        capabilities = Capabilities(exact=False)

        def _argmax(self, problem, time_limit):
            return Maximiser(np.ones((1, 2), np.int8), bound)

    solution = Heuristic().solve(problem())
    assert solution.score.tolist() == [6.0]
    assert solution.optimal.tolist() == [False]
