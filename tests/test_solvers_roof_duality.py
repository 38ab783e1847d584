"""Roof duality, reduction and balance against enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from solvers import Problem
from solvers.algorithms.max_flow.supermodular_flips import flipped, supermodular_flips
from solvers.algorithms.presolve.reduction import reduced
from solvers.algorithms.presolve.roof_duality import roof_duality

KINDS = ("float", "integer", "sparse", "ties", "huge", "tiny", "mixed", "single")


def states(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)


def all_scores(unary, pairwise, edges):
    """[batch, 2^n] float64 (exact for integers)."""
    z = states(unary.shape[1])
    both = z[:, edges[:, 0]] * z[:, edges[:, 1]]
    return unary.astype(float) @ z.T + pairwise.astype(float) @ both.T


def instances(kind, n, batch, rng):
    edges = np.stack(np.triu_indices(n, 1), 1)
    if kind in ("sparse", "mixed"):
        edges = edges[rng.random(len(edges)) < 2.5 / n]
    edges = rng.permutation(edges)
    shapes = (batch, n), (batch, len(edges))
    if kind in ("integer", "sparse"):
        u, w = (rng.integers(-9, 10, shape).astype(float) for shape in shapes)
    elif kind == "ties":
        u, w = (rng.integers(-1, 2, shape).astype(float) for shape in shapes)
    else:
        u, w = (rng.normal(size=shape) for shape in shapes)
        u *= 2
    if kind in ("huge", "tiny"):
        u, w = (array * {"huge": 1e200, "tiny": 1e-200}[kind] for array in (u, w))
    if kind == "mixed":
        u, w = (array * 10.0 ** rng.integers(-6, 7, array.shape) for array in (u, w))
    if kind == "single":
        u, w = u.astype(np.float32), w.astype(np.float32)
    return u, w, edges


@pytest.mark.spread(16)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_roof_duality_is_persistent_and_bounds(kind, n):
    rng = np.random.default_rng([n, KINDS.index(kind)])
    batch = 100
    unary, pairwise, edges = instances(kind, n, batch, rng)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    roof = roof_duality(problem)
    scores = all_scores(unary, pairwise, edges)
    best = scores.max(axis=1)
    slack = 4 * problem.rounding
    assert roof.fixed.shape == (batch, n)
    assert set(np.unique(roof.fixed)) <= {-1, 0, 1}
    assert np.all(roof.bound >= best - (0 if kind in ("integer", "sparse", "ties") else slack))
    z = states(n)
    agrees = np.all((roof.fixed[:, None] < 0) | (roof.fixed[:, None] == z), axis=2)
    assert np.all(
        np.where(agrees, scores, -np.inf).max(axis=1)
        >= best - (kind not in ("integer", "sparse", "ties")) * slack
    )
    if kind in ("integer", "sparse", "ties"):  # strong: every maximiser agrees
        assert np.all(agrees[scores == best[:, None]])
    whole = np.all(roof.fixed >= 0, axis=1)
    assert np.all(np.abs(roof.bound - best)[whole] <= 4 * slack[whole])


@pytest.mark.parametrize("pairs", [0, 2])
def test_the_bound_holds_in_rational_arithmetic(pairs):
    """Without cycles it is the maximum itself, so rounded to nearest it would lie below that every few instances."""
    rng = np.random.default_rng(2)
    edges = np.array([[0, 1], [1, 2]])[:pairs]
    shapes = (300, 3), (300, pairs)
    unary, pairwise = (
        rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape) for shape in shapes
    )
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    bounds, roundings = roof_duality(problem).bound.tolist(), problem.rounding.tolist()
    for bound, rounding, u, w in zip(
        bounds, roundings, unary.tolist(), pairwise.tolist(), strict=True
    ):
        best = max(
            sum(Fraction(u[i]) * z[i] for i in range(3))
            + sum(Fraction(w[k]) * z[i] * z[j] for k, (i, j) in enumerate(edges.tolist()))
            for z in product((0, 1), repeat=3)
        )
        assert best <= Fraction(bound) <= best + Fraction(rounding)


def test_parts_of_a_batch_are_the_batch(limits):
    unary, pairwise, edges = instances("sparse", 8, 7, np.random.default_rng(4))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    whole = roof_duality(problem)
    limits(capacities_per_call=2 * (4 * problem.e + 1))
    parts = roof_duality(problem)
    np.testing.assert_array_equal(parts.fixed, whole.fixed)
    np.testing.assert_array_equal(parts.bound, whole.bound)


def test_roof_duality_fixes_something():
    rng = np.random.default_rng(0)
    unary, pairwise, edges = instances("sparse", 12, 300, rng)
    roof = roof_duality(Problem.from_arrays(unary, pairwise, edges=edges))
    assert (roof.fixed >= 0).mean() > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_roof_duality_of_flipped_problem(kind):
    rng = np.random.default_rng(3)
    unary, pairwise, edges = instances(kind, 9, 50, rng)
    flips = rng.integers(0, 2, unary.shape)
    u, w, constant = flipped(unary, pairwise, edges, flips)
    one = roof_duality(Problem.from_arrays(unary, pairwise, edges=edges))
    problem = Problem.from_arrays(u, w, edges=edges)
    other = roof_duality(problem)
    assert np.all(np.abs(one.bound - other.bound - constant) <= 16 * problem.rounding)
    if kind in ("integer", "sparse", "ties"):
        assert np.array_equal(np.where(other.fixed < 0, -1, other.fixed ^ flips), one.fixed)


@pytest.mark.spread(12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 4, 9])
def test_reduced_scores(kind, n):
    rng = np.random.default_rng(n)
    unary, pairwise, edges = instances(kind, n, 50, rng)
    rounding = 4 * Problem.from_arrays(unary, pairwise, edges=edges).rounding
    for b in range(50):
        fixed = rng.integers(-1, 2, n)
        left = reduced(unary[b], pairwise[b], edges, fixed)
        m = len(left.unary)
        assert m == (fixed < 0).sum()
        assert np.all(left.edges[:, 0] != left.edges[:, 1])
        z = left.lift(states(m))
        assert z.dtype == np.int8
        assert np.all((z == fixed) | (fixed < 0))
        whole = z.astype(float) @ unary[b].astype(float)
        whole += (z[:, edges[:, 0]] * z[:, edges[:, 1]]).astype(float) @ pairwise[b].astype(float)
        here = left.constant + all_scores(left.unary[None], left.pairwise[None], left.edges)[0]
        assert np.all(np.abs(whole - here) <= rounding[b])


@pytest.mark.spread(16)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_flips_exist_exactly_where_signs_are_balanced(kind, n):
    rng = np.random.default_rng([n, 5])
    _, pairwise, edges = instances(kind, n, 200, rng)
    plant = rng.integers(0, 2, (200, n))
    half = np.arange(200) < 100
    planted = np.abs(pairwise) * (1 - 2 * (plant[:, edges[:, 0]] ^ plant[:, edges[:, 1]]))
    pairwise = np.where(half[:, None], planted, pairwise)
    flips, balanced = supermodular_flips(pairwise, edges, n)
    signs = 1 - 2 * states(n)
    products = np.sign(pairwise)[:, None] * (signs[:, edges[:, 0]] * signs[:, edges[:, 1]])[None]
    assert np.array_equal(balanced, np.all(products >= 0, axis=2).any(axis=1))
    assert np.all(balanced[half])
    assert not np.any(flips[~balanced])
    own = 1 - 2 * flips.astype(float)
    assert np.all((pairwise * own[:, edges[:, 0]] * own[:, edges[:, 1]])[balanced] >= 0)


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_scores(kind):
    rng = np.random.default_rng(9)
    n = 8
    unary, pairwise, edges = instances(kind, n, 60, rng)
    flips = rng.integers(0, 2, unary.shape).astype(np.int8)
    u, w, constant = flipped(unary, pairwise, edges, flips)
    rounding = 4 * Problem.from_arrays(unary, pairwise, edges=edges).rounding
    z = states(n).astype(int)
    for b in range(60):
        t = (z ^ flips[b]).astype(float)
        there = constant[b] + t @ u[b] + (t[:, edges[:, 0]] * t[:, edges[:, 1]]) @ w[b]
        here = all_scores(unary[b : b + 1], pairwise[b : b + 1], edges)[0]
        assert np.all(np.abs(there - here) <= rounding[b])


def test_balanced_problems_are_fully_bounded():
    """Without ties roof duality solves a balanced problem."""
    rng = np.random.default_rng(2)
    n = 10
    edges = np.stack(np.triu_indices(n, 1), 1)
    unary, pairwise = rng.normal(size=(50, n)) * 3, rng.random((50, len(edges)))
    plant = rng.integers(0, 2, (50, n))
    u, w, _ = flipped(unary, pairwise, edges, plant)
    roof = roof_duality(Problem.from_arrays(u, w, edges=edges))
    assert np.all(roof.fixed >= 0)
    assert np.allclose(roof.bound, all_scores(u, w, edges).max(axis=1), rtol=1e-12, atol=1e-12)


def test_roof_bound_is_rigorous_in_rational_arithmetic():
    rng = np.random.default_rng(8)
    n = 5
    for kind in KINDS:
        unary, pairwise, edges = instances(kind, n, 20, rng)
        roof = roof_duality(Problem.from_arrays(unary, pairwise, edges=edges))
        for b in range(20):
            u, w = ([Fraction(float(value)) for value in array[b]] for array in (unary, pairwise))
            best = max(
                sum((a for a, on in zip(u, z, strict=True) if on), Fraction(0))
                + sum((c for c, (i, j) in zip(w, edges, strict=True) if z[i] and z[j]), Fraction(0))
                for z in states(n)
            )
            assert Fraction(float(roof.bound[b])) >= best
