"""Semidefinite bounds of large problems: valid whatever the vectors, and states from the start."""

from fractions import Fraction

import numpy as np
import pytest
from auto_runs import names_of
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, solve
from solvers.algorithms.cycle_cuts.branch import BranchAndCut
from solvers.algorithms.cycle_cuts.max_cut import MaxCut
from solvers.algorithms.local_search.improvement import Improvement
from solvers.algorithms.local_search.tabu import TabuSearch
from solvers.algorithms.semidefinite import certificate
from solvers.algorithms.semidefinite.chords import chords
from solvers.algorithms.semidefinite.relaxation import Relaxation
from solvers.testing import enumerate_scores

SEEDS = st.integers(0, 2**32 - 1)


def drawn_problem(n, seed, scale=1.0):
    """A random graph with a field; scores are whole multiples of the scale or of a third of it."""
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.random(len(edges)) < 0.6]
    unary = scale * random.integers(-9, 10, n)
    pairwise = scale * random.integers(-9, 10, len(edges)) / random.choice((1.0, 3.0))
    return Problem.from_arrays(unary.astype(float), pairwise.astype(float), edges=edges)


def couplings(n, degree, seed=0, whole=True):
    """A random graph of couplings without a field, +1 and -1 or normal."""
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.choice(len(edges), n * degree // 2, replace=False)]
    pairwise = 2.0 * random.choice((-1, 1), len(edges))
    if not whole:
        pairwise = random.standard_normal(len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(pairwise / 2, 2), n)
    return Problem.from_arrays(unary, pairwise, edges=edges)


@examples(20)
@given(st.integers(3, 8), SEEDS, st.integers(0, 3), st.sampled_from((1.0, 1e-9, 0.1, 3e12)))
def test_a_bound_is_never_below_the_best_score(n, seed, rounds, scale):
    problem = drawn_problem(n, seed, scale)
    cut = MaxCut.of(problem)
    if not len(cut.weights):
        return
    best = enumerate_scores(problem).max()
    relaxation = Relaxation(cut)
    relaxation.prove(Deadline.after(None))
    for chorded in (False, True):
        if chorded:
            relaxation.add_chords()
        for _ in range(rounds):
            relaxation.tighten(Deadline.after(None))
        relaxation.prove(Deadline.after(None))
        assert cut.score_bound(relaxation.bound) >= best - problem.rounding[0]


@examples(10)
@given(st.integers(3, 8), SEEDS)
def test_bad_vectors_and_multipliers_give_a_valid_bound(n, seed):
    cut = MaxCut.of(drawn_problem(n, seed))
    if not len(cut.weights):
        return
    sides = (np.arange(2**cut.vertices)[:, None] >> np.arange(cut.vertices)) & 1
    crossed = sides[:, cut.edges[:, 0]] != sides[:, cut.edges[:, 1]]
    best = int((crossed @ cut.weights).max())
    relaxation = Relaxation(cut)
    relaxation.tighten(Deadline.after(-1.0))  # no step
    random = np.random.default_rng(seed)
    relaxation._multipliers = 3.0 * random.random(len(relaxation.cycles))
    relaxation.prove(Deadline.after(None))
    assert relaxation.bound >= best


def positive_semidefinite(matrix):
    """Whether a matrix of fractions is, by exact elimination with the largest pivots."""
    rows = [list(row) for row in matrix]
    while rows:
        pivot = max(range(len(rows)), key=lambda i: rows[i][i])
        largest = rows[pivot][pivot]
        if largest <= 0:
            return largest == 0 and not any(any(row) for row in rows)
        rest = [i for i in range(len(rows)) if i != pivot]
        rows = [
            [rows[i][j] - rows[i][pivot] * rows[pivot][j] / largest for j in rest] for i in rest
        ]
    return True


def test_a_factor_of_a_nearly_singular_matrix_proves_its_diagonal_in_exact_arithmetic():
    random = np.random.default_rng(0)
    proved = 0
    for _ in range(60):
        vectors = random.standard_normal((3, 2))
        gram = vectors @ vectors.T
        matrix = gram - np.diag(np.diag(gram))
        if (shifted := certificate.factorised(matrix, np.diag(gram))) is None:
            continue
        proved += 1
        exact = [[Fraction(value) for value in row] for row in matrix + np.diag(shifted)]
        assert positive_semidefinite(exact)
    assert proved >= 10


def test_a_diagonal_that_is_too_small_grows_until_it_is_proved():
    matrix = np.array([[0.0, 3.0, -1.0], [3.0, 0.0, 2.0], [-1.0, 2.0, 0.0]])
    diagonal = certificate.proved_diagonal(matrix, np.zeros(3))
    assert np.linalg.eigvalsh(matrix + np.diag(diagonal)).min() > 0
    assert certificate.proved_diagonal(matrix, np.full(3, np.nan)) is None


def test_bounds_are_rounded_down_to_what_a_cut_can_weigh():
    # The semidefinite bound of a cycle of five edges is 4.52.
    edges = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]
    problem = Problem.from_arrays(np.full(5, 2.0), np.full(5, -2.0), edges=edges)
    relaxation = Relaxation(MaxCut.of(problem))
    relaxation.prove(Deadline.after(None))
    assert relaxation.cut.score_bound(relaxation.bound) == 4.0


def test_odd_cycles_and_then_chords_tighten_the_bound():
    relaxation = Relaxation(MaxCut.of(couplings(60, 8, whole=False)))
    bounds = []
    for chorded in (False, True):
        relaxation.prove(Deadline.after(None))
        bounds.append(relaxation.bound)
        if chorded:
            relaxation.add_chords()
        for _ in range(8):
            relaxation.tighten(Deadline.after(None))
    relaxation.prove(Deadline.after(None))
    bounds.append(relaxation.bound)
    assert bounds[0] > bounds[1] > bounds[2]


def test_chords_are_pairs_with_common_neighbours():
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    assert sorted(map(tuple, chords(4, edges).tolist())) == [(0, 2), (1, 3)]


def test_the_solver_proves_what_the_bound_leaves_open():
    problem = couplings(30, 10)
    solution = solve(problem, solver="semidefinite")
    assert solution.optimal
    assert solution.score == solve(problem, solver="branch_and_bound").score


def test_large_problems_get_a_bound_beside_a_local_search_before_a_third_party():
    problem = couplings(610, 22)
    limited = names_of(problem, 60.0)
    assert limited[0] == limited[2] == "semidefinite"
    assert len(limited) == 3
    assert names_of(problem, None) == limited[:2]
    # Two runs would take the first steps twice.
    assert names_of(couplings(610, 400), 60.0) == ["semidefinite"]


def test_a_stop_by_callback_is_never_worse_than_as_many_runs_of_local_search():
    problem = couplings(610, 24)
    runs = solve(problem, solver="local_search")
    stopped = solve(problem, callback=lambda known: known.score > 0)
    assert stopped.score >= runs.score
    assert stopped.bound >= stopped.score
    assert not stopped.optimal


def test_a_local_search_alternates_with_the_bound_from_the_start(monkeypatch):
    calls = []
    improved = Improvement.improved
    tighten = Relaxation.tighten
    prove = Relaxation.prove

    def noted(name, function):
        def call(self, *arguments):
            calls.append(name)
            return function(self, *arguments)

        return call

    monkeypatch.setattr(Improvement, "improved", noted("state", improved))
    monkeypatch.setattr(Relaxation, "tighten", noted("bound", tighten))
    monkeypatch.setattr(Relaxation, "prove", noted("bound", prove))
    heard = []

    def stop(known):
        heard.append((float(known.score), float(known.bound)))
        return len(calls) >= 8

    problem = couplings(200, 12)
    solve(problem, solver="semidefinite", callback=stop, time_limit=60.0)
    assert calls[:8] == ["bound", "state"] * 4
    assert heard[-1][1] < problem.trivial_bound


def test_cycle_cuts_look_for_better_cuts_while_they_bound():
    problem = couplings(40, 4)
    cut = MaxCut.of(problem)
    bounds = []
    sides = np.zeros(cut.vertices, np.int8)
    search = BranchAndCut(cut, sides, lambda search: bounds.append(search.bound))
    search.cut_root(Deadline.after(None))
    assert bounds
    assert bounds[0] > search.bound  # called before the root is finished


def test_a_resumed_tabu_search_keeps_its_best_states():
    problem = couplings(120, 10)
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    search = TabuSearch(*arrays, flips=5)
    scores = []
    for _ in range(5):
        search.run(1, Deadline.after(None))
        scores.append(problem.score_flat(search.best)[0])
    assert scores == sorted(scores)
    assert scores[-1] > scores[0]


@pytest.mark.parametrize("seconds", [1e-3, 0.1])
def test_a_short_limit_ends_the_search_with_a_valid_bound(seconds):
    problem = couplings(700, 30)
    solution = solve(problem, solver="semidefinite", time_limit=seconds)
    assert solution.bound >= solution.score > 0
