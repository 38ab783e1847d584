"""Label problems without variables or without instances have answers."""

import numpy as np
import pytest
from optional import optional

import solvers
from solvers import ProblemError, labels
from solvers.labels import from_factors

dimod = optional("dimod")

SHAPES = [(0, 3), (0, 0), (2, 0, 3), (0, 2, 3), (0, 0, 3)]
METHODS = ["exact", "trw", "mean_field", "loopy"]


@pytest.mark.parametrize("shape", SHAPES)
def test_solvers_answer_where_nothing_is_to_decide(shape):
    for options in ({}, {"solver": "bits"}, {"solver": "dual_ascent"}, {"fix": {}}):
        solution = labels.solve(np.zeros(shape), **options)
        assert solution.labels.shape == shape[:-1]
        assert solution.labels.dtype == np.int64
        for numbers in (solution.score, solution.bound, solution.gap):
            assert np.shape(numbers) == shape[:-2]
            assert not np.any(numbers)
        assert np.all(solution.optimal)
    several = labels.solve(np.zeros(shape), k_best=2)
    assert several.labels.shape == (*shape[:-2], 2, shape[-2])
    assert "0" in repr(solution)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_nothing_are_those_of_the_empty_assignment(shape, method):
    sums = labels.gibbs(np.zeros(shape), method=method)
    assert sums.log_partition.shape == shape[:-2]
    assert not sums.log_partition.any()
    assert sums.unary_marginals.shape[:-1] == shape[:-1]
    if method == "exact":
        assert not sums.entropy.any()
        assert sums.sample(np.zeros((3, *shape[:-1]))).shape == (3, *shape[:-1])


def test_a_batch_of_no_instances_keeps_its_pairs():
    tables = np.zeros((0, 1, 3, 3))
    assert labels.solve(np.zeros((0, 2, 3)), tables, edges=[[0, 1]]).labels.shape == (0, 2)
    assert labels.solve(np.zeros((0, 2, 3)), potts=1.0, edges=[[0, 1]]).labels.shape == (0, 2)
    sums = labels.gibbs(np.zeros((0, 2, 3)), tables, edges=[[0, 1]])
    assert sums.pairwise_marginals.shape == (0, 1, 3, 3)


def test_conversions_without_variables_have_the_value_of_their_constants():
    model = from_factors([], [((), 3.0)], constant=2.0)
    answer = solvers.solve(model)
    assert (answer.assignment, answer.value, answer.optimal) == ({}, 5.0, True)
    assert solvers.gibbs(model).log_partition == 5.0
    empty = dimod.DiscreteQuadraticModel()
    assert solvers.solve(labels.from_dimod(empty)).value == 0.0


def test_variables_without_values_are_refused():
    with pytest.raises(ProblemError, match="the 2 variables have no values"):
        labels.solve(np.zeros((2, 0)))
