"""Relations between problems that every exact solver must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers import Problem, solve, solver_class

EXACT = ["exhaustive", "cp_sat"]
SIZES = st.integers(1, 7)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(n, seed):
    """Scores with many ties and zeros."""
    generator = np.random.default_rng(seed)
    unary = generator.integers(-3, 4, n) * generator.choice([1.0, 0.1, 1e-9])
    return unary, np.triu(generator.integers(-3, 4, (n, n)).astype(float), 1)


def maximum(unary, pairwise, solver="exhaustive"):
    return float(solve(unary, pairwise, solver=solver).score)


@pytest.mark.parametrize("solver", EXACT)
@settings(max_examples=25, deadline=None)
@given(n=SIZES, seed=SEEDS)
def test_relabelling(solver, n, seed):
    unary, pairwise = drawn(n, seed)
    order = np.random.default_rng(seed).permutation(n)
    symmetric = pairwise + pairwise.T
    relabelled = maximum(unary[order], symmetric[np.ix_(order, order)], solver)
    assert relabelled == pytest.approx(maximum(unary, pairwise, solver), abs=1e-12)


@pytest.mark.parametrize("solver", EXACT)
@settings(max_examples=25, deadline=None)
@given(n=SIZES, seed=SEEDS)
def test_bit_flip_duality(solver, n, seed):
    unary, pairwise = drawn(n, seed)
    symmetric = pairwise + pairwise.T
    flip = np.random.default_rng(seed).integers(0, 2, n)
    sign = 1 - 2 * flip
    # z = flip + sign * y, with y the flipped variables
    constant = unary @ flip + flip @ pairwise @ flip
    dual_unary = sign * (unary + symmetric @ flip)
    dual_pairwise = pairwise * np.outer(sign, sign)
    dual = maximum(dual_unary, dual_pairwise, solver) + constant
    assert dual == pytest.approx(maximum(unary, pairwise, solver), abs=1e-9)


@pytest.mark.parametrize("solver", EXACT)
@settings(max_examples=25, deadline=None)
@given(n=SIZES, seed=SEEDS, power=st.integers(-100, 100))
def test_scaling(solver, n, seed, power):
    unary, pairwise = drawn(n, seed)
    scaled = maximum(np.ldexp(unary, power), np.ldexp(pairwise, power), solver)
    assert scaled == pytest.approx(np.ldexp(maximum(unary, pairwise, solver), power), rel=1e-12)


@pytest.mark.parametrize("solver", [*EXACT, "max_flow"])
@settings(max_examples=25, deadline=None)
@given(n=SIZES, seed=SEEDS, extra=st.floats(-5, 5))
def test_isolated_variable(solver, n, seed, extra):
    unary, pairwise = drawn(n, seed)
    pairwise = np.abs(pairwise)
    wider = np.zeros((n + 1, n + 1))
    wider[:n, :n] = pairwise
    with_it = maximum(np.append(unary, extra), wider, solver)
    assert with_it == pytest.approx(maximum(unary, pairwise, solver) + max(extra, 0), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 30), seed=SEEDS)
def test_max_flow_equals_exhaustive_where_both_can(n, seed):
    generator = np.random.default_rng(seed)
    n = min(n, 14)
    pairwise = np.triu(np.abs(generator.standard_normal((3, n, n))), 1)
    unary = generator.standard_normal((3, n)) * 2 - pairwise.sum(-1) / 2
    scores = [solve(unary, pairwise, solver=name).score for name in ("max_flow", "exhaustive")]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_small_and_large_graph_paths_of_max_flow_agree(seed):
    generator = np.random.default_rng(seed)
    unary = generator.standard_normal((2, 10)) - 0.5
    edges = [[i, (i + 1) % 10] for i in range(10)]
    pairwise = np.abs(generator.standard_normal((2, 10)))
    small = solve(unary, pairwise, edges=edges, solver="max_flow")
    padded = np.concatenate([unary, np.full((2, 60), -1.0)], axis=1)
    large = solve(padded, pairwise, edges=edges, solver="max_flow")
    np.testing.assert_allclose(small.score, large.score, rtol=1e-12)
    assert large.optimal.all()


@pytest.mark.parametrize("solver", ["cplex", "cp_sat"])
def test_time_limit_gives_the_best_found_and_a_bound(solver):
    generator = np.random.default_rng(0)
    n = 70
    unary = generator.standard_normal((2, n))
    pairwise = np.triu(generator.standard_normal((2, n, n)), 1)
    problem = Problem.from_arrays(unary, pairwise)
    solution = solver_class(solver)().solve(problem, time_limit=0.3)
    assert not solution.optimal.any()
    assert (solution.bound > solution.score).all()
    np.testing.assert_allclose(problem.score(solution.z), solution.score)
    assert solution.stats["reached"] == 1
    greedy = np.maximum(unary, 0).sum(axis=1) + np.maximum(pairwise, 0).sum(axis=(1, 2))
    assert (solution.bound <= greedy * (1 + 1e-12)).all()
