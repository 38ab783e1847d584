"""Exact sums over all states end in time: also where one instance has many samples."""

import numpy as np
import pytest

from solvers import Problem, TimeLimitError, gibbs
from solvers.compiled._kernels import gibbs_distribution as kernels


def problem_of(n):
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return Problem.from_arrays(random.normal(size=n), random.normal(size=len(edges)), edges=edges)


def test_sums_and_samples_end_at_the_limit():
    problem = problem_of(12)
    with pytest.raises(TimeLimitError):
        gibbs(problem, time_limit=1e-9)
    assert gibbs(problem).log_partition > 0


N = 11
PLACES = N + N * (N - 1) // 2
BLOCKS = 1 << N - kernels.BLOCK_BITS
INPUTS = {
    "infer": [],
    "draw": [np.ones((1, BLOCKS)), np.full((1, 3), 0.5)],
    "complete": [np.ones((1, BLOCKS)), np.full((1, 3, N), 0.5), np.zeros((1, 3, 1), np.int64)],
    "derive": [
        np.ones((1, BLOCKS)),
        np.ones(1),
        np.zeros((1, 3, N), np.int8),
        np.zeros((1, 3, 1), np.int64),
        np.ones((1, 3, 1)),
        np.ones((1, PLACES)),
        np.ones(1),
    ],
}
OUTPUTS = {
    "infer": [(1, BLOCKS), (1, BLOCKS), (1,), (1, PLACES)],
    "draw": [(1, 3, N)],
    "complete": [(1, 3, N), (1, 3, 1, N), (1, 3, 1)],
    "derive": [(1, PLACES)],
}
BITS = {"draw": (0,), "complete": (0, 1)}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_kernel_that_has_to_end_fills_nothing(name, stopped):
    edges = np.stack(np.triu_indices(N, 1), axis=1).astype(np.int64)
    results = []
    for place, shape in enumerate(OUTPUTS[name]):
        dtype = np.float64
        if place in BITS.get(name, ()):
            dtype = np.int8
        results.append(np.full(shape, 99, dtype))
    stop = np.full(1, stopped, np.uint8)
    coefficients = np.full((1, PLACES), 0.1)
    getattr(kernels, name)(edges, N, stop, coefficients, np.zeros(1), *INPUTS[name], *results)
    untouched = [bool((array == 99).all()) for array in results]
    assert untouched == [stopped] * len(results)
