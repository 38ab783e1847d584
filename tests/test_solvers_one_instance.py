"""One small instance in one call of a kernel: the same answer as by the checks of a problem."""

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Problem, ProblemError, SolverError, prepare, solve
from solvers.algorithms.exhaustive.one_instance import solve_matrix, solve_pairs
from solvers.problems.pairs import topology_of


def best_score(unary, pairwise):
    """The highest score of all states."""
    n = len(unary)
    states = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return (states @ unary + np.einsum("si,ij,sj->s", states, pairwise, states)).max()


def scores_of(n, seed, digits):
    """Scores of one instance, and some pairs without one."""
    draw = np.random.default_rng(seed)
    unary = draw.normal(size=n).round(digits)
    pairwise = np.triu(draw.normal(size=(n, n)).round(digits), 1)
    return unary, pairwise * (draw.random((n, n)) < 0.7)


@given(n=st.integers(2, 16), seed=st.integers(0, 2**32 - 1), digits=st.integers(0, 6))
@examples(60)
def test_the_answer_is_that_of_a_checked_problem(n, seed, digits):
    unary, pairwise = scores_of(n, seed, digits)
    checked = solve(Problem.from_arrays(unary, pairwise))
    for matrix in (pairwise, pairwise + pairwise.T):
        solution = solve(unary, matrix)
        assert solution.z.tolist() == checked.z.tolist()
        assert (solution.score, solution.bound) == (checked.score, checked.bound)
        assert (solution.optimal, solution.solver) == (checked.optimal, checked.solver)
        assert solution.stats == checked.stats


@given(n=st.integers(2, 10), seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_prepared_pairs_have_the_best_of_all_states(n, seed):
    unary, pairwise = scores_of(n, seed, 3)
    edges = np.argwhere(pairwise)
    weights = pairwise[tuple(edges.T)]
    solution = prepare(edges, n)(unary, weights)
    assert solution.score == pytest.approx(best_score(unary, pairwise))
    assert solution.optimal


def test_plain_arrays_of_small_problems_take_one_call():
    unary, pairwise = scores_of(6, 0, 3)
    edges = np.argwhere(pairwise)
    assert solve_matrix(unary, pairwise) is not None
    topology = topology_of(edges, 6)
    assert solve_pairs(topology, unary, pairwise[tuple(edges.T)]) is not None


LARGE = 2.0**60
LAYOUTS = {
    "float32": (np.zeros(3, np.float32), np.triu(np.ones((3, 3), np.float32), 1)),
    "columns first": (np.zeros(3), np.asfortranarray(np.triu(np.ones((3, 3)), 1))),
    "batch": (np.zeros((2, 3)), np.triu(np.ones((3, 3)), 1)),
    "no pair": (np.ones(3), np.zeros((3, 3))),
    "17 variables": (np.zeros(17), np.triu(np.ones((17, 17)), 1)),
    "rounding hides units": (np.array([LARGE, 1.0, -LARGE]), np.triu(np.ones((3, 3)), 1)),
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_other_arrays_are_left_to_the_checks_of_a_problem(case):
    unary, pairwise = LAYOUTS[case]
    assert solve_matrix(unary, pairwise) is None
    checked = solve(Problem.from_arrays(unary, pairwise))
    solution = solve(unary, pairwise)
    assert np.array_equal(solution.z, checked.z)
    assert np.array_equal(solution.optimal, checked.optimal)


FAULTS = {
    "nan": (np.array([np.nan, 0.0]), np.triu(np.ones((2, 2)), 1), "unary"),
    "infinity": (np.zeros(2), np.array([[0.0, np.inf], [0.0, 0.0]]), "pairwise"),
    "diagonal": (np.zeros(2), np.eye(2), "diagonal"),
    "neither": (np.zeros(2), np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
    "too large": (np.full(2, 1e308), np.triu(np.ones((2, 2)), 1), "overflow"),
    "shape": (np.zeros(2), np.triu(np.ones((3, 3)), 1), "pairwise"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_have_the_messages_of_a_problem(case):
    unary, pairwise, word = FAULTS[case]
    with pytest.raises(ProblemError, match=word):
        solve(unary, pairwise)


def test_prepared_scores_of_other_lengths_are_refused():
    chain = prepare([[0, 1], [1, 2]], 3)
    with pytest.raises(ProblemError):
        chain(np.zeros(4), np.ones(2))
    with pytest.raises(ProblemError):
        chain(np.zeros(3), np.ones(3))


def test_arrays_in_the_place_of_options_are_refused_in_words():
    unary, pairwise = scores_of(4, 0, 3)
    with pytest.raises(SolverError):
        solve(unary, pairwise, constraints=np.zeros(2, [("a", float)]))
    with pytest.raises(SolverError):
        solve(unary, pairwise, solver=np.array(["auto", "auto"]))
