"""Scores as whole numbers: what rounding moves is accounted for, in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from solvers import Problem, solve
from solvers.algorithms.branch_and_bound.search import _margin
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.algorithms.precision.units import Units, to_units


def coefficients(kind, size, random):
    normal = random.normal(size=size)
    return {
        "normal": normal,
        "halves": random.integers(-9, 10, size) / 2,
        "decimals": random.integers(-99, 100, size) / 10,
        "thirds": random.integers(-99, 100, size) / 3,
        "mixed": normal * 10.0 ** random.integers(-12, 13, size),
        "huge": normal * 1e300,
        "tiny": normal * 1e-300,
        "subnormal": normal * 1e-318,
        "nothing": np.zeros(size),
    }[kind]


KINDS = ("normal", "halves", "decimals", "thirds", "mixed", "huge", "tiny", "subnormal", "nothing")


def exactly(units, value):
    return Fraction(float(value)) * Fraction(units.unit) * Fraction(2) ** units.exponent


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_units_say_how_much_they_round(kind, size):
    random = np.random.default_rng([size, KINDS.index(kind)])
    for _ in range(20):
        given = coefficients(kind, size, random)
        units = to_units(given)
        assert (units.values == np.rint(units.values)).all()
        assert np.abs(units.values).sum() < 2.0**53
        pairs = zip(given.tolist(), units.values.tolist(), strict=True)
        moved = sum(abs(Fraction(c) - exactly(units, value)) for c, value in pairs)
        assert moved <= exactly(units, units.error)
        total = sum(map(abs, map(Fraction, given.tolist())))
        assert (
            kind == "subnormal"
            or exactly(units, units.error) <= 2 * Fraction(2) ** -52 * size * total
        )


@pytest.mark.parametrize("kind", KINDS)
def test_an_upper_bound_of_units_is_one(kind):
    random = np.random.default_rng(KINDS.index(kind))
    for _ in range(50):
        units = to_units(coefficients(kind, 7, random))
        for value in (*units.values.tolist(), float(random.integers(-(2**53), 2**53)), units.error):
            bound, exact = Fraction(units.upper_bound(value)), exactly(units, value)
            # what comes after zero, in the given scale
            least = Fraction(2) ** (abs(units.exponent) - 1074)
            assert exact <= bound <= exact + Fraction(2) ** -50 * abs(exact) + least


def test_a_bound_below_the_least_number_is_rounded_up():
    assert Units(np.ones(1), 1.0, -1080, 0.0, True).upper_bound(1.0) == 2.0**-1074


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("subnormal", "nothing")])
@pytest.mark.parametrize("pairs", [0, 3])
def test_fixed_point_says_how_much_it_rounds(kind, pairs):
    random = np.random.default_rng([pairs, KINDS.index(kind)])
    edges = np.array([[0, 1], [0, 2], [1, 2]])[:pairs]
    arrays = (
        np.stack([coefficients(kind, size, random) for _ in range(30)]) for size in (3, pairs)
    )
    problem = Problem.from_arrays(*arrays, edges=edges)
    scores = FixedPoint.of(problem)
    given, whole = (
        np.concatenate((each.unary, each.pairwise), axis=1).tolist() for each in (problem, scores)
    )
    for b, (row, integers) in enumerate(zip(given, whole, strict=True)):
        unit = Fraction(float(scores.unit[b]))
        moved = sum(abs(Fraction(c) - k * unit) for c, k in zip(row, integers, strict=True))
        assert moved <= Fraction(float(scores.error[b]))
        assert moved <= Fraction(float(problem.rounding[b])) / 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_on_integer_scores_is_none_below_the_true_scores(kind):
    """Neither the sum with the roundings nor a number above 2^53 may be rounded down."""
    random = np.random.default_rng(KINDS.index(kind))
    unary = np.stack([coefficients(kind, 6, random) for _ in range(100)])
    problem = Problem.from_arrays(unary, np.zeros((100, 0)), edges=np.zeros((0, 2), int))
    scores = FixedPoint.of(problem)
    z = (unary > 0).astype(np.int8)
    bounds = scores.bound(scores.score(z)).tolist()
    for row, state, bound in zip(unary.tolist(), z.tolist(), bounds, strict=True):
        exact = sum(Fraction(c) for c, one in zip(row, state, strict=True) if one)
        assert Fraction(bound) >= exact
    odd = np.full(100, 2**53 + 1)
    above = scores.bound(odd).tolist()
    for bound, unit in zip(above, scores.unit.tolist(), strict=True):
        assert Fraction(bound) >= (2**53 + 1) * Fraction(unit)


def test_a_search_over_whole_numbers_prunes_no_state_that_is_better_by_a_unit():
    units = to_units(np.array([3.0, -2.0, 1.0]))
    assert units.common
    assert 0.9 < _margin(units) < 1.0


@pytest.mark.parametrize("solver", ["local_search", "branch_and_bound", "dual_ascent"])
def test_scores_below_all_normal_numbers_are_solved(solver):
    unary, pairwise = np.array([1e-310, -2e-310, 1.5e-310]), np.zeros((3, 3))
    pairwise[0, 1:] = -1e-310, 3e-310
    found = solve(unary, pairwise, solver=solver)
    assert found.z.tolist() == [1, 0, 1]
    assert found.score == pytest.approx(5.5e-310)
    assert found.bound >= found.score
