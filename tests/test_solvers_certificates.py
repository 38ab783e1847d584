"""What counts as a proof: a bound within the rounding of two sums, and not a little beyond."""

import numpy as np
import pytest

from solvers import ArgmaxSolver, Capabilities, Maximiser, Problem, SolveFailedError, labels, solve
from solvers.testing import check_conformance
from solvers.testing import check_conformance as check_label_conformance

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

    def _argmax(self, problem, deadline):
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


@pytest.mark.parametrize(
    "bound", [None, np.array([6.0])], ids=["no bound", "a bound that it reaches"]
)
def test_a_heuristic_proves_nothing(bound):
    class Heuristic(ArgmaxSolver):
        name = "heuristic"
        capabilities = Capabilities(exact=False)

        def _argmax(self, problem, deadline):
            return Maximiser(np.ones((1, 2), np.int8), bound)

    solution = Heuristic().solve(problem())
    assert solution.score.tolist() == [6.0]
    assert solution.optimal.tolist() == [False]


class Greedy(ArgmaxSolver):
    """Takes every variable whose own score is positive, and returns no bound."""

    name = "greedy"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        return Maximiser((problem.unary > 0).astype(np.int8))


class GreedyLabels(labels.LabelSolver):
    """Takes the value of the highest score of its own, and returns no bound."""

    name = "greedy_labels"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        return Maximiser(problem.unary.argmax(axis=-1))


def test_a_heuristic_without_a_bound_has_one_that_holds():
    scores = [1.0, -2.0, 0.5], [[0, 3, -1], [0, 0, 0], [0, 0, 0]]
    found = solve(*scores, solver=Greedy())
    assert (found.score, found.bound, found.optimal) == (0.5, 4.5, False)
    assert solve(*scores).score == 2.0
    several = solve(*scores, solver=Greedy(), k_best=2)
    assert (several.bound >= [2.0, 1.5]).all()
    check_conformance(Greedy(), count=60)


@pytest.mark.parametrize(
    "weights", [{"potts": [-3.0, 1.0]}, {"pairwise": [[0.0, 2.0], [-np.inf, 1.0]]}]
)
def test_a_label_heuristic_without_a_bound_has_one_that_holds(weights):
    arrays = {"unary": [[1.0, 0.0], [0.5, 0.0], [0.0, 0.5]], "edges": [[0, 1], [1, 2]], **weights}
    exact = labels.solve(**arrays)
    found = labels.solve(**arrays, solver=GreedyLabels())
    assert found.score < exact.score <= found.bound
    assert not found.optimal


def test_label_heuristics_without_bounds_conform():
    check_label_conformance(GreedyPairs(), count=60)


class GreedyPairs(GreedyLabels):
    """As `GreedyLabels`, but the first values where those are forbidden together."""

    name = "greedy_pairs"

    def _argmax(self, problem, deadline):
        z = problem.unary.argmax(axis=-1)
        forbidden = problem.score_flat(z) == -np.inf
        return Maximiser(np.where(forbidden[:, None], 0, z))


class LabelClaims(labels.LabelSolver):
    """The maximiser of `two_labels`, with a bound some roundings above its score."""

    name = "label_claims"
    capabilities = Capabilities(exact=True)

    def __init__(self, roundings):
        self.roundings = roundings

    def _argmax(self, problem, deadline):
        score = problem.score_flat(np.array([[1, 1]]))
        return Maximiser(np.array([[1, 1]]), score + self.roundings * problem.rounding)


def two_labels():
    return labels.LabelProblem.from_arrays([[[0.0, 4.0], [1.0, 0.0]]], potts=[3.0], edges=[[0, 1]])


@pytest.mark.parametrize(("roundings", "optimal"), [(1, True), (2, False), (16, False)])
def test_a_bound_of_labels_beyond_the_rounding_is_no_proof(roundings, optimal):
    answer = LabelClaims(roundings).solve(two_labels())
    assert answer.optimal.tolist() == [optimal]
    assert answer.bound > answer.score


def test_a_bound_of_labels_that_rounding_put_below_the_score_is_the_score():
    answer = LabelClaims(-1).solve(two_labels())
    assert answer.bound.tolist() == answer.score.tolist()
    assert answer.optimal.all()


@pytest.mark.parametrize("roundings", [-2, -16])
def test_a_bound_of_labels_further_below_the_score_is_a_fault_of_the_solver(roundings):
    with pytest.raises(SolveFailedError, match="found a state that scores"):
        LabelClaims(roundings).solve(two_labels())
