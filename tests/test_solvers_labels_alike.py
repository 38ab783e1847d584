"""Problems with interchangeable labels: one of them is searched, and no assignment is missed."""

import itertools

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, solver_class
from solvers.labels import LabelProblem, solve
from solvers.labels.algorithms.dual_ascent.alike import alike_labels
from solvers.labels.algorithms.dual_ascent.search import LabelSearch
from solvers.labels.algorithms.whole_scores import WholeScores


def all_states(problem):
    """`[assignments, n]`: all assignments."""
    return np.array(list(itertools.product(*map(range, problem.sizes))))


def scores_of(problem, states, instance=0):
    """`[assignments]`: scores by the definition; minus infinity for values beyond a size."""
    rows = np.arange(problem.n)
    scores = np.asarray(problem.unary[instance])[rows, states].sum(axis=1)
    inside = np.minimum(states, problem.sizes - 1)
    for edge, (i, j) in enumerate(problem.edges):
        table = problem.pairwise(edge)
        table = table[min(instance, len(table) - 1)]
        scores = scores + table[inside[:, i], inside[:, j]]
    return scores


def best_of(problem):
    """The highest score of all assignments."""
    return scores_of(problem, all_states(problem)).max()


def check(problem, **options):
    found = solve(problem, solver="dual_ascent", **options)
    assert found.optimal
    assert float(found.score) == pytest.approx(best_of(problem), abs=1e-9)
    assert float(found.bound) >= float(found.score) - 1e-9


def dense(random, n, share=0.8):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return edges[random.random(len(edges)) < share]


@examples(40)
@given(
    n=st.integers(2, 6),
    k=st.integers(2, 4),
    classes=st.integers(1, 4),
    whole=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_equal_values_of_both_signs_with_alike_labels(n, k, classes, whole, seed):
    random = np.random.default_rng(seed)
    edges = dense(random, n)
    which = random.integers(0, classes, k)
    unary = random.normal(size=(n, classes))[:, which]
    potts = random.normal(size=len(edges))
    if whole:
        unary = np.round(unary)
        potts = np.round(2 * potts)
    sizes = random.integers(1, k + 1, n) if seed % 2 else None
    check(LabelProblem.from_arrays(unary, potts=potts, edges=edges, sizes=sizes))


@examples(40)
@given(
    n=st.integers(2, 5),
    k=st.integers(2, 4),
    alike=st.integers(1, 4),
    broken=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_tables_that_some_exchanges_of_labels_leave_as_they_are(n, k, alike, broken, seed):
    random = np.random.default_rng(seed)
    alike = min(alike, k)
    edges = dense(random, n)
    unary = random.normal(size=(n, k))
    unary[:, :alike] = unary[:, :1]
    tables = random.normal(size=(len(edges), k, k))
    tables[:, :alike, alike:] = tables[:, :1, alike:]
    tables[:, alike:, :alike] = tables[:, alike:, :1]
    tables[:, :alike, :alike] = random.normal(size=(len(edges), 1, 1))
    tables[:, range(alike), range(alike)] = random.normal(size=(len(edges), 1))
    if broken and len(edges):
        tables[random.integers(len(edges)), random.integers(k), random.integers(k)] += 1.0
    check(LabelProblem.from_arrays(unary, tables, edges=edges))


def test_labels_that_only_one_row_tells_apart_are_not_alike():
    """The two labels have equal unary scores, and rows of tables alone prefer one of them."""
    tables = np.array([[[0.0, 0.0, 2.0], [0.0, 0.0, 5.0], [1.0, 3.0, 0.0]]])
    for seed in range(20):
        unary = np.random.default_rng(seed).normal(size=(2, 3))
        unary[:, 1] = unary[:, 0]
        check(LabelProblem.from_arrays(unary, tables, edges=[[0, 1]]))


@pytest.mark.parametrize(("n", "k", "clashes"), [(9, 6, 3), (8, 5, 3), (12, 10, 2)])
def test_colourings_of_cliques_are_proved_without_their_permutations(n, k, clashes):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    problem = LabelProblem.from_arrays(np.zeros((n, k)), potts=-1.0, edges=edges)
    found = solve(problem, solver=solver_class("dual_ascent", "labels")(visits=2**16))
    assert (bool(found.optimal), float(found.score)) == (True, -float(clashes))


def test_best_assignments_include_all_permutations_of_labels():
    edges = [[0, 1], [1, 2], [0, 2]]
    problem = LabelProblem.from_arrays(np.zeros((3, 3)), potts=-1.0, edges=edges)
    several = solve(problem, k_best=7, solver="dual_ascent")
    assert several.score.tolist() == [0.0] * 6 + [-1.0]
    assert len({tuple(labels) for labels in several.labels.tolist()}) == 7


def test_a_fixed_variable_tells_its_label_from_the_others():
    edges = [[0, 1], [1, 2], [0, 2]]
    problem = LabelProblem.from_arrays(np.zeros((3, 3)), potts=-1.0, edges=edges)
    for value in range(3):
        found = solve(problem, fix={1: value}, solver="dual_ascent")
        assert (float(found.score), found.labels[1]) == (0.0, value)
        assert found.optimal


def test_an_interrupted_search_bounds_all_permutations():
    random = np.random.default_rng(2)
    edges = dense(random, 6, 1.0)
    problem = LabelProblem.from_arrays(
        np.zeros((6, 3)), potts=random.normal(size=len(edges)), edges=edges
    )
    best = best_of(problem)
    for visits in (1, 500, 2000, 5000):
        found = solve(problem, solver=solver_class("dual_ascent", "labels")(visits=visits))
        assert float(found.bound) >= best - 1e-9


def exchangeable_problem(kind, random):
    """Small problem whose labels are alike, or nearly so, in the way that `kind` names."""
    n = int(random.integers(2, 6))
    k = int(random.integers(2, 5))
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.8]
    label_class = random.integers(0, 2, k)
    unary = random.integers(-3, 4, (n, 2))[:, label_class].astype(float)
    tables = random.integers(-4, 5, (len(edges), k, k))[:, label_class[:, None], label_class]
    diagonal = random.integers(-4, 5, (len(edges), 2))[:, label_class]
    tables[:, range(k), range(k)] = diagonal
    tables = tables.astype(float)
    sizes = None
    if kind == "unary differs at a later variable":
        unary[:] = 0.0
        unary[random.integers(1, n), random.integers(k)] = 2.0
    if kind == "forbidden labels":
        unary[random.random((n, k)) < 0.3] = -np.inf
        unary[:, 0] = 0.0
    if kind == "forbidden pairs":
        tables[tables > 2.0] = -np.inf
    if kind == "sizes":
        sizes = random.integers(1, k + 1, n)
    if kind == "equal rows":
        unary[:] = 0.0
        tables = random.normal(size=tables.shape)[:, label_class]
    if kind == "equal columns":
        unary[:] = 0.0
        tables = random.normal(size=tables.shape)[:, :, label_class]
    if kind == "one table differs" and len(edges):
        tables[-1, random.integers(k), random.integers(k)] += 1.0
    if kind == "unrelated tables":
        unary[:] = 0.0
        tables = random.normal(size=tables.shape)
    return LabelProblem.from_arrays(unary, tables, edges=edges, sizes=sizes)


KINDS = [
    "all exchanges",
    "unary differs at a later variable",
    "forbidden labels",
    "forbidden pairs",
    "sizes",
    "equal rows",
    "equal columns",
    "one table differs",
    "unrelated tables",
]


@pytest.mark.parametrize("kind", KINDS)
def test_exchanging_alike_labels_keeps_the_score_of_each_assignment(kind):
    merged = 0
    for seed in range(25):
        problem = exchangeable_problem(kind, np.random.default_rng(seed))
        first = alike_labels(WholeScores.of(problem))
        states = np.array(list(itertools.product(range(problem.k), repeat=problem.n)))
        scores = scores_of(problem, states)
        for a, b in itertools.combinations(range(problem.k), 2):
            if first[a] != first[b]:
                continue
            merged += 1
            order = np.arange(problem.k)
            order[[a, b]] = b, a
            np.testing.assert_allclose(scores_of(problem, order[states]), scores, atol=1e-9)
    if kind in ("all exchanges", "forbidden pairs"):
        assert merged > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_without_heuristics_proves_the_score_of_enumeration(kind):
    for seed in range(25):
        problem = exchangeable_problem(kind, np.random.default_rng(seed))
        check_search(problem, visits=1 + seed % 2 * 2**20)


def check_search(problem, visits):
    """Check all bounds of a search that starts from its own labels, and its answer."""
    best = best_of(problem)
    search = LabelSearch(WholeScores.of(problem))
    for _ in range(10000):
        search.run(Deadline.after(None), visits)
        assert search.bound >= best - 1e-9
        if search.finished:
            break
    assert search.finished
    if best == -np.inf:
        assert search.bound == -np.inf
        return
    assert search.bound == pytest.approx(best, abs=1e-9)
    assert scores_of(problem, search.labels[None])[0] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", [92, 94, 118, 123])
def test_a_label_in_use_is_not_exchanged_with_others(seed):
    """The root misses the maximum here: some variables must share the label of a branch above."""
    random = np.random.default_rng(seed)
    edges = dense(random, 8, 0.7)
    potts = random.normal(size=len(edges))
    problem = LabelProblem.from_arrays(np.zeros((8, 3)), potts=potts, edges=edges)
    check_search(problem, visits=np.inf)


@pytest.mark.parametrize("kind", KINDS)
def test_k_best_has_all_assignments_of_a_class(kind):
    for seed in range(4):
        problem = exchangeable_problem(kind, np.random.default_rng(seed))
        expected = np.sort(scores_of(problem, all_states(problem)))[::-1]
        expected = expected[expected > -np.inf][:6]
        if not len(expected):
            continue
        several = solve(problem, k_best=len(expected), solver="dual_ascent")
        np.testing.assert_allclose(several.score, expected, atol=1e-9)
        assert len({tuple(labels) for labels in several.labels.tolist()}) == len(expected)


def test_instances_of_a_batch_have_their_own_alike_labels():
    random = np.random.default_rng(4)
    edges = dense(random, 5, 1.0)
    unary = np.zeros((6, 5, 3))
    unary[range(1, 6), range(5), [0, 1, 2, 0, 1]] = 1.5
    tables = random.normal(size=(6, len(edges), 3, 3))
    tables[:3] = -np.eye(3)
    problem = LabelProblem.from_arrays(unary, tables, edges=edges)
    solution = solve(problem, solver="dual_ascent")
    states = all_states(problem)
    expected = [scores_of(problem, states, instance).max() for instance in range(6)]
    assert np.all(solution.optimal)
    np.testing.assert_allclose(solution.score, expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["all exchanges", "sizes", "unrelated tables"])
def test_fixed_labels_and_callbacks_agree_with_enumeration(kind):
    for seed in range(6):
        problem = exchangeable_problem(kind, np.random.default_rng(seed))
        states = all_states(problem)
        scores = scores_of(problem, states)
        last = problem.n - 1
        value = int(problem.sizes[last]) - 1
        best = scores[states[:, last] == value].max()
        bounds = []

        def heard(incumbent, bounds=bounds):
            bounds.append(float(incumbent.bound))

        solution = solve(problem, fix={last: value}, solver="dual_ascent", callback=heard)
        assert solution.optimal
        assert float(solution.score) == pytest.approx(best, abs=1e-9)
        assert min(bounds, default=np.inf) >= best - 1e-9
