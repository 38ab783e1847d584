"""Batches of label problems: what belongs to one instance stays with it."""

import itertools

import numpy as np
import pytest

from solvers import OptionError
from solvers.labels import LabelProblem, gibbs, messages_first, solve

CHAIN = np.array([[0, 1], [1, 2], [2, 3]])


def maxima(unary, tables, edges):
    """`[batch]`: the highest scores of all assignments, term by term."""
    states = np.array(list(itertools.product(range(unary.shape[-1]), repeat=unary.shape[-2])))
    total = unary[:, np.arange(unary.shape[-2]), states].sum(axis=-1)
    for edge, (i, j) in enumerate(edges):
        total = total + tables[:, edge, states[:, i], states[:, j]]
    return total.max(axis=-1)


def test_a_fixed_variable_keeps_its_value_in_every_instance():
    found = solve(np.array([[[0.0, 5.0], [0.0, 1.0]]] * 3), fix={0: 0})
    np.testing.assert_array_equal(found.labels, [[0, 1]] * 3)


@pytest.mark.parametrize(
    "fix", [{1: 2}, [-1, 2], [[-1, 1], [-1, 2]]], ids=["dict", "array", "batch"]
)
def test_a_value_beyond_the_size_of_its_variable_cannot_be_fixed(fix):
    with pytest.raises(OptionError, match="fix"):
        solve(np.zeros((2, 2, 3)), sizes=[3, 2], fix=fix)


@pytest.mark.parametrize(
    "fix",
    [{0: 2}, [2, -1], {0: 2.0}, [2.0, -1.0]],
    ids=["dict", "array", "dict of floats", "array of floats"],
)
def test_the_last_value_of_a_larger_variable_can_be_fixed(fix):
    assert solve(np.zeros((2, 3)), sizes=[3, 2], fix=fix).labels[0] == 2


def test_the_rounding_of_a_problem_counts_its_variables_and_its_pairs():
    edges = np.stack(np.triu_indices(6, 1), axis=1)
    problem = LabelProblem.from_arrays(np.ones((6, 2)), np.ones((15, 2, 2)), edges=edges)
    assert problem.rounding[0] == pytest.approx(2 * np.finfo(float).eps * 22 * 21, rel=1e-12, abs=0)


def test_an_instance_may_have_one_table_of_its_own_for_all_edges():
    random = np.random.default_rng(0)
    unary, tables = random.normal(size=(4, 4, 2)), random.normal(size=(4, 1, 2, 2))
    problem = LabelProblem.from_arrays(unary, tables, edges=CHAIN)
    wanted = maxima(unary, np.repeat(tables, 3, axis=1), CHAIN)
    np.testing.assert_allclose(solve(problem).score, wanted)


def test_a_part_of_a_batch_keeps_its_own_weights_of_pairs():
    problem = LabelProblem.from_arrays(
        np.zeros((3, 2, 2)), potts=[[1.0], [2.0], [3.0]], edges=[[0, 1]]
    )
    part = problem.instances(slice(1, 3))
    np.testing.assert_array_equal(part.score(np.zeros((2, 2), int)), [2.0, 3.0])


def test_a_value_that_one_instance_forbids_keeps_its_pair_scores_in_the_others():
    unary = np.zeros((2, 2, 2))
    unary[0, 0, 1] = -np.inf
    table = np.array([[0.0, 0.0], [0.0, 7.0]])
    problem = LabelProblem.from_arrays(unary, table[None], edges=[[0, 1]])
    np.testing.assert_array_equal(solve(problem).score, [0.0, 7.0])


def test_covariances_of_a_batch_in_parts_are_along_the_direction_of_each_instance(limits):
    limits(part_bytes=1)
    random = np.random.default_rng(1)
    unary, direction = random.normal(size=(3, 1, 4)), random.normal(size=(3, 1, 4))
    p = np.exp(unary) / np.exp(unary).sum(axis=-1, keepdims=True)
    wanted = p * (direction - (p * direction).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(gibbs(unary).covariance_product(direction)[0], wanted)


def test_tables_of_a_large_batch_are_not_begun_where_they_would_not_be_full_in_time(limits):
    random = np.random.default_rng(2)
    problem = LabelProblem.from_arrays(
        random.normal(size=(500, 4, 3)), random.normal(size=(500, 3, 3, 3)), edges=CHAIN
    )
    entries = messages_first.elimination_entries(problem)
    limits(seconds_per_entry=1.0 / entries)
    found = solve(
        problem, solver=messages_first.MessagesFirst(), time_limit=60.0
    )  # a second an instance
    assert found.solver == "dual_ascent"
    assert "turns_elimination" not in found.stats
