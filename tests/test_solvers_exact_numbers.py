"""Fractions, decimals and integers of any size: values and certificates are exact."""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optional import optional

from solvers import ProblemError, solve
from solvers.conversions import from_ising, from_qubo

pandas = optional("pandas")

few = settings(max_examples=25, deadline=None)
LARGE = st.integers(-3, 3).map(lambda k: 2**60 * (k // 2) + k)
NUMBERS = st.one_of(
    st.fractions(-3, 3, max_denominator=7),
    st.decimals(-3, 3, places=2),
    st.integers(-3, 3),
    LARGE,
)
KEYS = st.lists(st.sampled_from("abc"), max_size=2).map(tuple)


def objectives(terms, values):
    """{assignment: exact objective}, by enumeration."""
    names = sorted({name for key in terms for name in key})
    sums = {}
    for state in itertools.product(values, repeat=len(names)):
        value = dict(zip(names, state, strict=True))
        total = Fraction(0)
        for key, number in terms.items():
            product = Fraction(number)
            for name in key:
                product *= value[name]
            total += product
        sums[state] = total
    return names, sums


@few
@given(terms=st.dictionaries(KEYS, NUMBERS, min_size=1), spins=st.booleans())
def test_values_are_exact_and_certificates_hold_for_exact_numbers(terms, spins):
    values = (-1, 1) if spins else (0, 1)
    model = from_ising({}, terms) if spins else from_qubo(terms)
    answer = solve(model)
    names, sums = objectives(terms, values)
    exact = sums[tuple(answer.assignment[name] for name in names)]
    best = min(sums.values())
    assert answer.value == float(exact)
    assert Fraction(answer.bound) <= best or answer.bound == float(best)
    if answer.optimal:
        assert exact == best


def test_units_that_floats_round_away_are_not_certified():
    near = {("a", "a"): -(2**60) - 1, ("b", "b"): -(2**60), ("a", "b"): 2**61 + 2**62}
    answer = solve(from_qubo(near))
    assert not answer.optimal
    assert answer.bound <= -(2**60) - 1


def test_decimals_and_fractions_are_certified():
    decimals = {("a", "a"): Decimal("0.1"), ("b", "b"): Decimal("0.2"), ("a", "b"): Decimal("-0.4")}
    answer = solve(from_qubo(decimals))
    assert (answer.value, answer.bound, answer.optimal) == (-0.1, -0.1, True)
    thirds = [Fraction(1, 3), Fraction(-2, 3), Fraction(1, 3)]
    spins = solve(from_ising(thirds, {(0, 1): Fraction(1, 7)}, offset=Fraction(1, 3)))
    assert spins.optimal
    assert spins.value == float(Fraction(1, 3) - Fraction(4, 3) - Fraction(1, 7))


def test_matrices_and_tables_of_exact_numbers():
    matrix = [[2**60 + 1, 0], [0, -(2**60)]]
    assert from_qubo(matrix).objective([1, 1]) == 1.0
    assert from_qubo(np.array(matrix)).objective([1, 1]) == 1.0
    assert from_qubo(np.array([[Decimal("0.1"), 0], [0, 1]], object)).objective([1, 0]) == 0.1
    table = pandas.DataFrame(matrix, index=["x", "y"], columns=["x", "y"])
    assert from_qubo(table).objective([1, 1]) == 1.0
    assert from_qubo({("a", "a"): 2**60 + 1}, offset=-(2**60)).objective([1]) == 1.0


@pytest.mark.parametrize("number", [10**400, -(10**400), Decimal("NaN"), Decimal("-Infinity")])
def test_numbers_beyond_floats_are_named(number):
    with pytest.raises(ProblemError, match="the term of 'a' is"):
        from_qubo({("a", "a"): number})
    with pytest.raises(ProblemError, match="the offset must be a finite number"):
        from_qubo({("a", "a"): 1.0}, offset=number)
