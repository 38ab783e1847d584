"""The best states within a time limit: what is certified is true, no state comes twice, and none is invented."""

import itertools
import time
from dataclasses import dataclass

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    ArgmaxSolver,
    Capabilities,
    InfeasibleError,
    Maximiser,
    Problem,
    SolveFailedError,
    interrupt_solves,
    labels,
    solve,
)
from solvers.constraints import at_most, cardinality
from solvers.conversions import from_qubo
from solvers.labels import LabelProblem, from_factors
from solvers.solution import Ranking

LIMITS = [1e-9, 1e-4, 2e-3, None]
seeds = st.integers(0, 2**32 - 1)


def all_scores(problem, states):
    """`[batch, states]`, of bits by the definition."""
    pairs = states[:, problem.edges[:, 0]] * states[:, problem.edges[:, 1]]
    return problem.unary @ states.T + problem.pairwise @ pairs.T


def check(solution, scores, codes, slack):
    """Holds the states of a batch against the scores of all states that exist.

    Args:
        solution: of a batch of one leading dimension.
        scores: `[batch, states]`, minus infinity for a state that does not exist.
        codes: of states `[rows, n]`, their places in `scores`.
        slack: `[batch]`, what rounding may do.
    """
    for b, given_scores in enumerate(scores):
        found = solution.score[b] > -np.inf
        count = int(found.sum())
        assert found[:count].all()  # missing rows come last
        assert (solution.z[b, count:] == -1).all()
        places = codes(solution.z[b, :count])
        assert len(np.unique(places)) == count
        own = given_scores[places]
        assert (np.abs(own - solution.score[b, :count]) <= slack[b]).all()
        assert (np.diff(solution.score[b, :count]) <= 0).all()
        for k in range(len(found)):
            others = np.delete(given_scores, places[: min(k, count)])
            best = others.max(initial=-np.inf)
            assert solution.bound[b, k] >= best - slack[b]
            assert not solution.optimal[b, k] or solution.score[b, k] >= best - slack[b]
            if solution.bound[b, k] == -np.inf:
                assert best == -np.inf


def drawn_problem(random, n):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.choice([0.0, 0.4, 1.0])]
    unary, pairwise = random.normal(size=(3, n)), random.normal(size=(3, len(edges)))
    if random.random() < 0.5:
        unary, pairwise = np.round(2 * unary), np.round(2 * pairwise)
    return Problem.from_arrays(unary, pairwise, edges=edges)


@examples(120)
@given(
    seeds,
    st.integers(1, 7),
    st.integers(1, 40),
    st.sampled_from(LIMITS),
    st.sampled_from(
        ["auto", "exhaustive", "elimination", "branch_and_bound", "dual_ascent", "local_search"]
    ),
    st.booleans(),
)
def test_certificates_of_bits_hold_however_soon_the_time_is_up(
    seed, n, count, limit, solver, fixes
):
    random = np.random.default_rng(seed)
    problem = drawn_problem(random, n)
    states = np.array(list(itertools.product((0, 1), repeat=n)))
    scores = all_scores(problem, states)
    fix = random.integers(-1, 2, n) if fixes else np.full(n, -1)
    scores = np.where(((fix < 0) | (states == fix)).all(axis=1), scores, -np.inf)
    solution = solve(
        problem, solver=solver, k_best=count, time_limit=limit, fix=fix if fixes else None
    )
    check(solution, scores, lambda z: z.astype(int) @ 2 ** np.arange(n)[::-1], 2 * problem.rounding)


@examples(40)
@given(seeds, st.integers(2, 6), st.integers(1, 24), st.sampled_from(LIMITS))
def test_certificates_within_constraints_hold_however_soon_the_time_is_up(seed, n, count, limit):
    random = np.random.default_rng(seed)
    problem = drawn_problem(random, n)
    most = int(random.integers(0, n + 1))
    states = np.array(list(itertools.product((0, 1), repeat=n)))
    scores = np.where(states.sum(axis=1) <= most, all_scores(problem, states), -np.inf)
    solver = "exhaustive" if random.random() < 0.5 else Ascending()
    solution = solve(
        problem,
        solver=solver,
        k_best=count,
        time_limit=limit,
        constraints=[at_most(most, range(n))],
    )
    check(solution, scores, lambda z: z.astype(int) @ 2 ** np.arange(n)[::-1], 2 * problem.rounding)


@examples(120)
@given(
    seeds,
    st.integers(1, 30),
    st.sampled_from(LIMITS),
    st.sampled_from(["auto", "elimination", "dual_ascent", "bits", "expansion_moves"]),
)
def test_certificates_of_labels_hold_however_soon_the_time_is_up(seed, count, limit, solver):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 5)), int(random.integers(1, 4))
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary, pairwise = random.normal(size=(2, n, k)), random.normal(size=(2, len(edges), k, k))
    unary = np.where(random.random(unary.shape) < 0.3, -np.inf, unary)
    unary[..., 0] = np.where((unary > -np.inf).any(axis=-1), unary[..., 0], 0.0)
    pairwise = np.where(random.random(pairwise.shape) < 0.15, -np.inf, pairwise)
    problem = LabelProblem.from_arrays(
        unary, pairwise if len(edges) else None, edges=edges if n > 1 else None
    )
    states = np.array(list(itertools.product(range(k), repeat=n)))
    scores = unary[:, np.arange(n), states].sum(axis=-1)
    for edge, (i, j) in enumerate(edges):
        scores = scores + pairwise[:, edge, states[:, i], states[:, j]]
    try:
        solution = labels.solve(problem, solver=solver, k_best=count, time_limit=limit)
    except InfeasibleError:
        assert (scores.max(axis=1) == -np.inf).any()
        return
    except SolveFailedError:
        assert limit is not None or solver == "expansion_moves"
        return
    check(solution, scores, lambda z: z @ k ** np.arange(n)[::-1], 4 * problem.rounding)


@dataclass(frozen=True)
class Ascending(ArgmaxSolver):
    """Enumerates, and returns several states in the wrong order: the worst of them first."""

    name = "ascending"
    capabilities = Capabilities(exact=True, time_limit=True, constraints=2**54)

    def _argmax(self, problem, deadline):
        return Maximiser(self.best_states(problem, 1).z[:, 0])

    def _argmax_within(self, problem, constraints, deadline):
        states = np.array(list(itertools.product((0, 1), repeat=problem.n)), np.int8)
        states = states[constraints.satisfied(states)]
        if not len(states):
            raise InfeasibleError(constraints.names)
        return Maximiser(states[all_scores(problem, states).argmax(axis=1)])

    def best_states(self, problem, count, deadline=None):
        states = np.array(list(itertools.product((0, 1), repeat=problem.n)), np.int8)
        scores = np.sort(all_scores(problem, states), axis=1)
        best = np.argsort(all_scores(problem, states), axis=1)[:, len(states) - count :]
        others = None if count == len(states) else scores[:, len(states) - count - 1]
        return Ranking(states[best], others)


def test_the_order_of_a_backend_does_not_matter():
    problem = Problem.from_arrays([[2.2, 1.2, -1.9], [-1.0, 2.0, -0.1]])
    solution = solve(problem, solver=Ascending(), k_best=3)
    np.testing.assert_allclose(solution.score, [[3.4, 2.2, 1.5], [2.0, 1.9, 1.0]])
    assert solution.optimal.all()
    swapped = [2.2, 1.2, -1.9], [1.0, -1.5, -0.5], [-1.0, 2.0, -0.1]
    late = solve(swapped, solver="branch_and_bound", k_best=3, time_limit=1e-9)
    assert (late.bound[:, 2] >= [1.5, -0.5, 1.0]).all()
    assert (
        late.score[late.optimal]
        >= np.array([[3.4, 2.2, 1.5], [1, 0.5, 0], [2, 1.9, 1]])[late.optimal]
    ).all()


class Repeats(Ascending):
    """Returns one state twice."""

    name = "repeats"

    def best_states(self, problem, count, deadline=None):
        return Ranking(np.zeros((problem.batch, count, problem.n), np.int8))


class TooFew(Ascending):
    """Returns one state where several are asked for."""

    name = "too_few"

    def best_states(self, problem, count, deadline=None):
        return Ranking(np.zeros((problem.batch, 1, problem.n), np.int8))


class NotANumber(Ascending):
    """Returns nan for the bound on other states."""

    name = "not_a_number"

    def best_states(self, problem, count, deadline=None):
        return Ranking(super().best_states(problem, count).z, np.full(problem.batch, np.nan))


@pytest.mark.parametrize(
    "solver", [Repeats(), TooFew(), NotANumber()], ids=lambda solver: solver.name
)
def test_impossible_rankings_are_a_fault_of_the_solver(solver):
    with pytest.raises(SolveFailedError, match=f"'{solver.name}'.*fault of the solver"):
        solve([1.0, 2.0, -1.0], solver=solver, k_best=3)


class Heuristic(Ascending):
    """Never proves anything, although its states are right."""

    name = "heuristic"
    capabilities = Capabilities(exact=False)

    def best_states(self, problem, count, deadline=None):
        states = np.array(list(itertools.product((0, 1), repeat=problem.n)), np.int8)
        return Ranking(np.repeat(states[None, :count], problem.batch, axis=0))


def test_several_states_of_a_heuristic_have_the_trivial_bound():
    solution = solve([1.0, 2.0, -1.0], solver=Heuristic(), k_best=3)
    assert not solution.optimal.any()
    assert (solution.bound >= 3.0).all()
    assert (solution.score < 3.0).all()


def test_one_more_state_than_there_are_says_so():
    solution = solve([[1.0, -2.0], [0.0, 0.0]], k_best=5)
    assert solution.z.shape == (2, 5, 2)
    assert solution.score.tolist() == [
        [1.0, 0.0, -1.0, -2.0, -np.inf],
        [0.0, 0.0, 0.0, 0.0, -np.inf],
    ]
    assert solution.optimal.all()
    assert (solution.bound[:, 4] == -np.inf).all()
    assert (solution.z[:, 4] == -1).all()
    all_fixed = solve([1.0, -2.0], k_best=2, fix={0: 1, 1: 1})
    assert all_fixed.score.tolist() == [-1.0, -np.inf]
    assert all_fixed.optimal.all()


@pytest.mark.parametrize("solver", ["cp_sat", "highs"])
def test_all_states_are_certified_if_no_more_exist_when_the_time_limit_expires(solver):
    """The bound of the last search is that of the best state, but no other state exists."""
    unary = np.array([[1.0, -2.0], [2.0, 3.0]])
    solution = solve(unary, solver=solver, k_best=5, time_limit=1e-9)
    expected = [[1.0, 0.0, -1.0, -2.0, -np.inf], [5.0, 3.0, 2.0, 0.0, -np.inf]]
    assert solution.score.tolist() == expected
    assert solution.optimal.all()
    np.testing.assert_allclose(solution.bound, expected)


def test_all_states_need_no_search_for_others():
    solution = solve([1.0, -2.0, 0.5], k_best=8, time_limit=1e-9, solver="branch_and_bound")
    assert solution.optimal.all()


@pytest.mark.parametrize("solver", ["exhaustive", "branch_and_bound"])
def test_one_more_state_than_satisfy_constraints_says_so(solver):
    if solver == "branch_and_bound":
        solver = Ascending()
    solution = solve([[1.0, -2.0, 3.0]] * 2, k_best=5, constraints=[cardinality(1)], solver=solver)
    assert solution.score.tolist() == [[3.0, 1.0, -2.0, -np.inf, -np.inf]] * 2
    assert (solution.bound[:, 3:] == -np.inf).all()
    assert solution.optimal.all()


def test_a_puzzle_is_known_to_have_one_solution():
    different = np.where(np.eye(2) > 0, -np.inf, 0.0)
    unary = [[0.0, -np.inf], [0.0, 0.0]]
    unique = labels.solve(unary, different, edges=[[0, 1]], k_best=2)
    assert unique.labels.tolist() == [[0, 1], [-1, -1]]
    assert unique.bound.tolist() == [0.0, -np.inf]
    assert unique.optimal.all()
    both = labels.solve(np.zeros((2, 2)), different, edges=[[0, 1]], k_best=2)
    assert both.score.tolist() == [0.0, 0.0]
    mixed = labels.solve([unary, np.zeros((2, 2))], different, edges=[[0, 1]], k_best=3)
    assert (mixed.score > -np.inf).sum(axis=1).tolist() == [1, 2]
    assert mixed.optimal.all()


def test_answers_of_conversions_are_as_many_as_there_are():
    model = from_qubo({("a", "a"): -1.0, ("a", "b"): 2.0})
    assert [answer.value for answer in solve(model, k_best=9)] == [-1.0, 0.0, 0.0, 1.0]
    vote = from_factors([2], [((0,), np.array([1.0, 2.0]))], names=["coat"])
    assert [answer.assignment["coat"] for answer in labels.solve(vote, k_best=3)] == [1, 0]


def test_forbidden_values_are_never_taken_when_the_time_is_up():
    random = np.random.default_rng(1)
    n, k = 12, 4
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary = np.where(random.random((n, k)) < 0.3, -np.inf, random.normal(size=(n, k)))
    unary[:, 0] = random.normal(size=n)
    pairwise = random.normal(size=(len(edges), k, k))
    for limit in (1e-9, 1e-3, 0.02):
        found = labels.solve(unary, pairwise, edges=edges, k_best=40, time_limit=limit)
        assert (found.score > -np.inf).all()
        assert len(np.unique(found.labels, axis=0)) == 40
        assert (unary[np.arange(n), found.labels] > -np.inf).all()


def test_variables_of_one_value_have_no_neighbours_when_the_time_is_up():
    solution = labels.solve(
        [[2.0], [1.0]], k_best=3, constraints=[at_most(1, [(0, 0)])], time_limit=1e-9
    )
    assert solution.labels.tolist() == [[0, 0], [-1, -1], [-1, -1]]
    assert solution.score.tolist() == [3.0, -np.inf, -np.inf]


class StopsAfterOne(labels.LabelSolver):
    """Somebody presses Ctrl-C after the first search."""

    name = "stops_after_one"
    capabilities = Capabilities(exact=True, time_limit=True)

    def _argmax(self, problem, deadline):
        interrupt_solves()
        return Maximiser(problem.unary.argmax(axis=-1), problem.trivial_bound)


def test_an_interrupt_has_distinct_labels():
    with pytest.raises(KeyboardInterrupt) as stopped:
        labels.solve([[3.0, 1.0, 0.0], [2.0, -np.inf, 1.0]], solver=StopsAfterOne(), k_best=4)
    found = stopped.value.solution
    assert found.score.tolist() == [5.0, 4.0, 3.0, 2.0]
    assert len(np.unique(found.labels, axis=0)) == 4


def many(n, solver):
    """A batch whose k best states take ten seconds and more."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    if solver == "labels":
        tables = np.random.default_rng(0).normal(size=(len(edges), 3, 3))
        return LabelProblem.from_arrays(np.ones((2000, n, 3)), tables, edges=edges)
    unary = np.ones((2000, n))
    pairs = np.ones((2000, len(edges)))
    if solver == "max_flow":
        unary *= -10
    else:
        pairs[:, ::2] = -1.0
    return Problem.from_arrays(unary, pairs, edges=edges)


@pytest.mark.parametrize(
    ("n", "solver"),
    [
        (20, "exhaustive"),
        (15, "elimination"),
        (40, "branch_and_bound"),
        (30, "max_flow"),
        (12, "labels"),
    ],
)
def test_a_large_batch_of_rankings_ends_soon_after_the_limit(n, solver):
    problem = many(n, solver)
    before = time.process_time()
    solution = solve(
        problem, k_best=8, time_limit=0.02, solver="auto" if solver == "labels" else solver
    )
    assert time.process_time() - before < 0.45
    assert (solution.z >= 0).all()
    last = [np.unique(states, axis=0) for states in solution.z[-5:]]
    assert [len(states) for states in last] == [8] * 5
    assert not solution.optimal[-1].any()
