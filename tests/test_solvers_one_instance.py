"""One small instance in one call of a kernel: the same answer as by the checks of a problem."""

from dataclasses import dataclass

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    Problem,
    ProblemError,
    SolverError,
    prepare,
    select_solver,
    solve,
    solver_class,
)
from solvers.conversions import from_qubo

MAX_FLOW = solver_class("max_flow")
EXHAUSTIVE = solver_class("exhaustive")
ELIMINATION = solver_class("elimination")


def best_score(unary, pairwise):
    """The highest score of all states."""
    n = len(unary)
    states = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return (states @ unary + np.einsum("si,ij,sj->s", states, pairwise, states)).max()


def scores_of(n, seed, digits, sign=None):
    """Scores of one instance, and some pairs without one; no pair of another sign."""
    draw = np.random.default_rng(seed)
    unary = draw.normal(size=n).round(digits)
    pairwise = np.triu(draw.normal(size=(n, n)).round(digits), 1)
    if sign is not None:
        pairwise = sign * abs(pairwise)
        unary -= sign * (pairwise + pairwise.T).sum(axis=1).round(digits) / 2
    return unary, pairwise * (draw.random((n, n)) < 0.7)


def over_edges(pairwise):
    """The pairs of a matrix that have a score, and these scores."""
    edges = np.argwhere(pairwise)
    return edges, pairwise[tuple(edges.T)]


LONG = 60.0
"""Seconds of a time limit, with which `solve` takes its usual steps."""


def assert_same(solution, checked):
    assert solution.z.tolist() == checked.z.tolist()
    assert (solution.score, solution.bound) == (checked.score, checked.bound)
    assert (solution.optimal, solution.solver) == (checked.optimal, checked.solver)
    assert solution.stats == checked.stats


@given(n=st.integers(2, 16), seed=st.integers(0, 2**32 - 1), digits=st.integers(0, 6))
@examples(60)
def test_the_answer_is_that_of_a_checked_problem(n, seed, digits):
    unary, pairwise = scores_of(n, seed, digits)
    problem = Problem.from_arrays(unary, pairwise)
    checked = solve(problem, time_limit=LONG)
    assert_same(solve(problem), checked)
    for matrix in (pairwise, pairwise + pairwise.T):
        assert_same(solve(unary, matrix), checked)


def forest_of(n, seed, chords=0):
    """The pairs of a random forest, and some more between near variables."""
    draw = np.random.default_rng(seed)
    pairs = {(int(draw.integers(0, j)), j) for j in range(1, n) if draw.random() < 0.9}
    for i in draw.integers(0, n - 2, chords).tolist():
        pairs.add((i, i + 2))
    return np.array(sorted(pairs))


@given(
    n=st.integers(21, 90),
    seed=st.integers(0, 2**32 - 1),
    digits=st.integers(0, 6),
    chords=st.sampled_from([0, 3]),
)
@examples(40)
def test_an_elimination_is_that_of_a_checked_problem(n, seed, digits, chords):
    edges = forest_of(n, seed, chords)
    draw = np.random.default_rng(seed)
    unary = draw.normal(size=n).round(digits)
    pairwise = draw.normal(size=len(edges)).round(digits)
    checked = solve(Problem.from_arrays(unary, pairwise, edges=edges), time_limit=LONG)
    prepared = prepare(edges, n)
    for solution in (
        solve(unary, pairwise, edges=edges),
        solve(Problem.from_arrays(unary, pairwise, edges=edges)),
        solve(unary, pairwise, edges=edges, solver=checked.solver),
        prepared(unary, pairwise),
    ):
        assert_same(solution, checked)


def test_a_forest_takes_one_call_once_it_is_planned(monkeypatch):
    def no_search(*_):
        pytest.fail("the usual steps ran")

    n = 100
    edges = forest_of(n, 3)
    draw = np.random.default_rng(4)
    unary = draw.normal(size=n)
    pairwise = draw.normal(size=len(edges))
    checked = solve(unary, pairwise, edges=edges)
    assert checked.solver == "elimination"
    monkeypatch.setattr(ELIMINATION, "_argmax", no_search)
    assert_same(solve(unary, pairwise, edges=edges), checked)
    assert_same(prepare(edges, n)(unary, pairwise), checked)
    z = np.empty(n, np.int8)
    topology = Problem.from_arrays(unary, pairwise, edges=edges).topology
    assert ELIMINATION().maximise_at_once(topology, unary[:-1], pairwise, z[:-1]) is None
    assert ELIMINATION().maximise_at_once(topology, unary, pairwise[:-1], z) is None
    assert ELIMINATION().maximise_at_once(None, unary, np.zeros((n, n)), z) is None


def test_scores_that_need_another_look_are_not_eliminated_at_once():
    n = 40
    edges = forest_of(n, 5)
    ones = np.ones(len(edges))
    solve(np.ones(n), -ones, edges=edges)
    hiding = np.ones(n)
    hiding[0] = 2.0**60
    hiding[1] = -(2.0**60)
    checked = solve(Problem.from_arrays(hiding, -ones, edges=edges), time_limit=LONG)
    solution = solve(hiding, -ones, edges=edges)
    assert (solution.bound, solution.optimal) == (checked.bound, checked.optimal)
    for fault in (np.nan, np.inf, 1e308):
        unary = np.ones(n)
        unary[:2] = fault
        with pytest.raises(ProblemError):
            solve(unary, -ones, edges=edges)


@given(n=st.integers(2, 62), seed=st.integers(0, 2**32 - 1), digits=st.integers(0, 6))
@examples(60)
def test_a_minimum_cut_is_that_of_a_checked_problem(n, seed, digits):
    unary, pairwise = scores_of(n, seed, digits, sign=1)
    problem = Problem.from_arrays(unary, pairwise)
    checked = solve(problem, solver="max_flow", time_limit=LONG)
    edges, weights = over_edges(pairwise)
    assert checked.optimal
    assert_same(solve(problem, solver="max_flow"), checked)
    if n > 16:
        assert_same(solve(problem), checked)
        assert_same(solve(unary, pairwise), checked)
    assert_same(solve(unary, pairwise + pairwise.T, solver="max_flow"), checked)
    if len(edges):
        assert_same(solve(unary, weights, edges=edges, solver="max_flow"), checked)
        assert_same(prepare(edges, n, solver="max_flow")(unary, weights), checked)


@pytest.mark.parametrize("solver", ["auto", "exhaustive", "max_flow"])
@given(n=st.integers(2, 10), seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_prepared_pairs_have_the_best_of_all_states(solver, n, seed):
    unary, pairwise = scores_of(n, seed, 3, sign=1 if solver == "max_flow" else None)
    edges, weights = over_edges(pairwise)
    solution = prepare(edges, n, solver=solver)(unary, weights)
    assert solution.score == pytest.approx(best_score(unary, pairwise))
    assert solution.optimal


@pytest.mark.parametrize(("solver", "n"), [(EXHAUSTIVE, 16), (MAX_FLOW, 62)])
def test_plain_arrays_of_small_problems_take_one_call(solver, n):
    unary, pairwise = scores_of(n, 0, 3, sign=1)
    z = np.empty(n + 1, np.int8)
    assert solver().maximise_at_once(None, unary, pairwise, z[:n]) is not None
    edges, weights = over_edges(pairwise)
    topology = Problem.from_arrays(unary, weights, edges=edges).topology
    assert solver().maximise_at_once(topology, unary, weights, z[:n]) is not None
    larger = Problem.from_arrays(np.zeros(n + 1), weights, edges=edges).topology
    assert solver().maximise_at_once(larger, np.zeros(n + 1), weights, z) is None


@pytest.mark.parametrize("n", [17, 20, 40, 62])
@pytest.mark.parametrize("share", [0.05, 1.0])
@pytest.mark.parametrize("sign", [None, 1, -1])
def test_auto_takes_the_same_solver_with_and_without_a_checked_problem(n, share, sign):
    unary, pairwise = scores_of(n, 1, 3, sign)
    edges, weights = over_edges(pairwise * (np.random.default_rng(n).random((n, n)) < share))
    problem = Problem.from_arrays(unary, weights, edges=edges)
    matrix = np.zeros((n, n))
    matrix[tuple(edges.T)] = weights
    checked = solve(problem, time_limit=5.0)
    calls = (
        solve(problem),
        solve(unary, matrix),
        solve(unary, weights, edges=edges),
        prepare(edges, n)(unary, weights),
    )
    for solution in calls:
        assert solution.solver == checked.solver
        assert solution.score == pytest.approx(checked.score)


@pytest.mark.parametrize("n", [17, 62])
def test_auto_takes_one_call_for_supermodular_scores_in_every_form(n, monkeypatch):
    def no_search(*_):
        pytest.fail("the usual steps ran")

    unary, pairwise = scores_of(n, 2, 3, sign=1)
    problem = Problem.from_arrays(unary, pairwise)
    checked = solve(problem, time_limit=LONG)
    matrix = -pairwise - np.diag(unary)
    conversions = [from_qubo(matrix), from_qubo(dict(np.ndenumerate(matrix)))]
    monkeypatch.setattr(MAX_FLOW, "_argmax", no_search)
    for solution in (solve(unary, pairwise), solve(problem)):
        assert_same(solution, checked)
    for conversion in conversions:
        answer = solve(conversion)
        assert answer.optimal
        assert answer.value == pytest.approx(-checked.score)


def test_several_instances_and_several_states_take_the_usual_steps():
    unary, pairwise = scores_of(18, 2, 3, sign=1)
    one = Problem.from_arrays(unary, pairwise)
    two = Problem.from_arrays(np.stack([unary, unary]), pairwise)
    leading = Problem.from_arrays(unary[None], pairwise)
    best = solve(one).score
    assert solve(two).score.tolist() == [best, best]
    assert solve(leading).score.tolist() == [best]
    assert solve(leading).z.shape == (1, 18)
    assert solve(one, k_best=2).solver == "exhaustive"
    assert select_solver(two).solver.name == "exhaustive"
    assert "one instance" in select_solver(one).reason


def test_a_negative_pair_is_refused_or_flipped_as_ever():
    unary = np.zeros(3)
    edges = [[0, 1], [1, 2], [0, 2]]
    flipped = solve(unary + 1, np.array([-1.0, -2.0, 3.0]), edges=edges, solver="max_flow")
    assert flipped.stats == {"flipped": 1}
    with pytest.raises(SolverError, match="supermodular"):
        solve(unary, np.array([1.0, 1.0, -1.0]), edges=edges, solver="max_flow")


@dataclass(frozen=True)
class Zeros(MAX_FLOW):
    """Returns zeros, and no bound that proves them."""

    name = "zeros"

    def _argmax(self, problem, deadline):
        found = super()._argmax(problem, deadline)
        return type(found)(0 * found.z, found.bound)


def test_a_subclass_with_another_search_is_asked_itself():
    unary, pairwise = scores_of(8, 0, 3, sign=1)
    edges, weights = over_edges(pairwise)
    for solution in (
        solve(unary + 9, pairwise, solver=Zeros()),
        prepare(edges, 8, solver=Zeros())(unary + 9, weights),
    ):
        assert (solution.solver, solution.score, solution.optimal) == ("zeros", 0.0, False)


LARGE = 2.0**60
LAYOUTS = {
    "float32": (np.zeros(3, np.float32), np.triu(np.ones((3, 3), np.float32), 1)),
    "columns first": (np.zeros(3), np.asfortranarray(np.triu(np.ones((3, 3)), 1))),
    "batch": (np.zeros((2, 3)), np.triu(np.ones((3, 3)), 1)),
    "no pair": (np.ones(3), np.zeros((3, 3))),
    "17 variables": (np.zeros(17), np.triu(np.ones((17, 17)), 1)),
    "rounding hides units": (np.array([LARGE, 1.0, -LARGE]), np.triu(np.ones((3, 3)), 1)),
}


@pytest.mark.parametrize("solver", ["auto", "max_flow"])
@pytest.mark.parametrize("case", LAYOUTS)
def test_other_arrays_are_left_to_the_checks_of_a_problem(case, solver):
    unary, pairwise = LAYOUTS[case]
    checked = solve(Problem.from_arrays(unary, pairwise), solver=solver)
    solution = solve(unary, pairwise, solver=solver)
    assert np.array_equal(solution.z, checked.z)
    assert np.array_equal(solution.bound, checked.bound)
    assert np.array_equal(solution.optimal, checked.optimal)


FAULTS = {
    "nan": (np.array([np.nan, 0.0]), np.triu(np.ones((2, 2)), 1), "unary"),
    "infinity": (np.zeros(2), np.array([[0.0, np.inf], [0.0, 0.0]]), "pairwise"),
    "diagonal": (np.zeros(2), np.eye(2), "diagonal"),
    "neither": (np.zeros(2), np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
    "too large": (np.full(2, 1e308), np.triu(np.ones((2, 2)), 1), "overflow"),
    "shape": (np.zeros(2), np.triu(np.ones((3, 3)), 1), "pairwise"),
}


@pytest.mark.parametrize("solver", ["auto", "max_flow"])
@pytest.mark.parametrize("case", FAULTS)
def test_faults_have_the_messages_of_a_problem(case, solver):
    unary, pairwise, word = FAULTS[case]
    with pytest.raises(ProblemError, match=word):
        solve(unary, pairwise, solver=solver)


@pytest.mark.parametrize("solver", ["auto", "exhaustive", "max_flow"])
def test_prepared_scores_of_other_lengths_are_refused(solver):
    chain = prepare([[0, 1], [1, 2]], 3, solver=solver)
    for n in (2, 4):
        with pytest.raises(ProblemError):
            chain(np.zeros(n), np.ones(2))
    with pytest.raises(ProblemError):
        chain(np.zeros(3), np.ones(3))


def test_arrays_in_the_place_of_options_are_refused_in_words():
    unary, pairwise = scores_of(4, 0, 3)
    with pytest.raises(SolverError):
        solve(unary, pairwise, constraints=np.zeros(2, [("a", float)]))
    with pytest.raises(SolverError):
        solve(unary, pairwise, solver=np.array(["auto", "auto"]))
