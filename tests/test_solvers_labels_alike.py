"""Problems with interchangeable labels: one of them is searched, and no assignment is missed."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.labels import LabelProblem, solve
from solvers.labels.backends.dual_ascent import DualAscent


def best_of(problem):
    """The highest score of all assignments."""
    states = np.array(list(itertools.product(*map(range, problem.sizes))))
    rows = np.arange(problem.n)
    scores = np.asarray(problem.unary[0])[rows, states].sum(axis=1)
    for edge, (i, j) in enumerate(problem.edges):
        scores = scores + problem.pairwise(edge)[0][states[:, i], states[:, j]]
    return scores.max()


def check(problem, **options):
    found = solve(problem, solver="dual_ascent", **options)
    assert found.optimal
    assert float(found.score) == pytest.approx(best_of(problem), abs=1e-9)
    assert float(found.bound) >= float(found.score) - 1e-9


def dense(random, n, share=0.8):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return edges[random.random(len(edges)) < share]


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
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
    found = solve(problem, solver=DualAscent(visits=2**16))
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
        found = solve(problem, solver=DualAscent(visits=visits))
        assert float(found.bound) >= best - 1e-9
