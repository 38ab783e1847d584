"""Fractions, decimals and integers of any size: values and certificates are exact."""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import ProblemError, solve, solve_labels
from solvers.conversions import from_ising, from_max_cut, from_min_cut, from_networkx, from_qubo
from solvers.labels import from_factors

networkx = optional("networkx")
pandas = optional("pandas")
scipy_sparse = optional("scipy.sparse")
torch = optional("torch")

few = examples(25)
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


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="longdouble is float64 here")
@pytest.mark.parametrize("kind", ["dictionary", "matrix"])
def test_units_of_long_doubles_that_floats_round_away_are_not_certified(kind):
    large = np.longdouble(2**60)
    terms = {(0, 0): -large, (1, 1): -(large + 1), (0, 1): 4 * large}
    qubo = terms
    if kind == "matrix":
        qubo = np.zeros((2, 2), np.longdouble)
        for place, term in terms.items():
            qubo[place] = term
    answer = solve(from_qubo(qubo))
    assert answer.bound <= -(2**60) - 1
    assert not answer.optimal or answer.assignment == {0: 0, 1: 1}


def test_arrays_of_objects_are_taken_where_float64_holds_their_numbers():
    table = pandas.DataFrame({"whole": [1, -2], "real": [0.5, 3.0]}).T.astype(object)
    assert solve(table).score.tolist() == [1.0, 3.5]
    assert solve(np.array([1, 2], object)).score == 3.0


@pytest.mark.parametrize("qubo", [{("a", "a"): Decimal("sNaN")}, [[1, Decimal("sNaN")], [0, 1]]])
def test_signalling_nans_are_refused_like_others(qubo):
    with pytest.raises(ProblemError, match="finite"):
        solve(from_qubo(qubo))


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


WEIGHTS = st.lists(NUMBERS, min_size=3, max_size=3)
TRIANGLE = [[0, 1], [1, 2], [0, 2]]


@few
@given(weights=WEIGHTS)
def test_cuts_have_exact_values_and_certificates(weights):
    numbers = [Fraction(weight) for weight in weights]
    cuts = {}
    for state in itertools.product((0, 1), repeat=3):
        cuts[state] = sum(
            w for w, (i, j) in zip(numbers, TRIANGLE, strict=True) if state[i] != state[j]
        )
    answer = solve(from_max_cut(3, TRIANGLE, weights))
    exact = cuts[tuple(answer.assignment.values())]
    assert answer.value == float(exact)
    assert answer.bound >= float(max(cuts.values()))
    assert not answer.optimal or exact == max(cuts.values())


@few
@given(weights=WEIGHTS)
def test_minimum_cuts_have_exact_values_and_certificates(weights):
    capacities = [abs(Fraction(weight)) for weight in weights]
    network = from_min_cut(3, [[0, 1], [1, 2], [0, 2]], capacities, source=0, sink=2)
    answer = solve(network)
    cuts = {0: capacities[0] + capacities[2], 1: capacities[1] + capacities[2]}
    assert answer.value == float(cuts[answer.assignment[1]])
    assert answer.bound <= float(min(cuts.values()))
    assert not answer.optimal or cuts[answer.assignment[1]] == min(cuts.values())


def test_capped_capacities_keep_a_bound_that_holds():
    # The arc of 2^80 is capped: no minimum cut goes through it, but this state does.
    arcs = [[0, 1], [1, 2], [0, 2]]
    network = from_min_cut(3, arcs, [2**80, Fraction(1, 3), Fraction(1, 3)], 0, 2)
    assert network.objective([1, 0, 0]) == float(2**80 + Fraction(1, 3))
    bound = float(network.problem.score([1, 1, 0]))
    assert network.objective_bound([1, 0, 0], bound) <= float(Fraction(2, 3))
    answer = solve(network)
    assert (answer.value, answer.optimal) == (float(Fraction(2, 3)), True)


@pytest.mark.parametrize("kind", ["scores", "max_cut", "min_cut"])
def test_graphs_have_exact_numbers(kind):
    ends = {"source": 0, "sink": 1} if kind == "min_cut" else {}
    for large in (2**60 + 1, Fraction(1, 3), Decimal("0.1"), np.int64(2**60 + 1)):
        graph = networkx.MultiDiGraph()
        graph.add_edge(0, 1, weight=large, capacity=large)
        graph.add_edge(0, 1, weight=large, capacity=large)
        conversion = from_networkx(graph, kind=kind, **ends)
        state = [1, 1] if kind == "scores" else [1, 0]
        exact = Fraction(int(large)) if isinstance(large, np.integer) else Fraction(large)
        assert conversion.original.exact.value([1] * len(conversion.original.exact.terms)) == float(
            2 * exact
        )
        assert conversion.objective(state) == float(2 * exact)


@few
@given(
    table=st.lists(NUMBERS, min_size=6, max_size=6),
    alone=st.lists(NUMBERS, min_size=2, max_size=2),
    constant=NUMBERS,
    sense=st.sampled_from(["minimise", "maximise"]),
)
def test_tables_of_labels_have_exact_values_and_certificates(table, alone, constant, sense):
    pair = [table[:3], table[3:]]
    model = from_factors([2, 3], [((0, 1), pair), ((0,), alone)], constant=constant, sense=sense)
    sums = {}
    for i, j in itertools.product(range(2), range(3)):
        sums[i, j] = Fraction(pair[i][j]) + Fraction(alone[i]) + Fraction(constant)
    best = max(sums.values()) if sense == "maximise" else min(sums.values())
    answer = solve(model)
    exact = sums[tuple(answer.assignment.values())]
    assert answer.value == float(exact)
    if sense == "maximise":
        assert answer.bound >= float(best)
    else:
        assert answer.bound <= float(best)
    assert not answer.optimal or exact == best


def test_forbidden_entries_stand_beside_exact_ones():
    table = [[Fraction(1, 3), float("inf")], [7, Decimal("0.1")]]
    answer = solve(from_factors([2, 2], [((0, 1), table)], sense="minimise"))
    assert (answer.assignment, answer.value, answer.optimal) == ({0: 1, 1: 1}, 0.1, True)


@pytest.mark.parametrize(
    "unary",
    [
        np.array([2**53 + 1, 1]),
        np.array([1, 2**63 + 1], np.uint64),
        [2**53 + 1, 0.5],
        [2**70 + 1, 1],
        [Fraction(1, 3), 1],
        [Decimal("0.1")],
    ],
)
def test_numbers_that_arrays_would_round_are_refused_with_the_way_out(unary):
    with pytest.raises(ProblemError, match=r"float64 .*round.*from_qubo"):
        solve(unary)
    with pytest.raises(ProblemError, match=r"float64 .*round.*from_qubo"):
        solve_labels([unary])


def test_large_integers_that_float64_has_are_taken():
    assert solve(np.array([2**60, -1])).score == 2.0**60
    assert solve([2**60, -1, 0.5]).score == 2.0**60 + 0.5
    assert solve([2**70, -(2**70)]).score == 2.0**70
    sparse = scipy_sparse.csr_array(np.array([[2**60 + 1, 0], [0, 1]]))
    with pytest.raises(ProblemError, match="float64 rounds"):
        from_qubo(sparse)
    device = torch.tensor([2**60 + 1, 1])
    with pytest.raises(ProblemError, match="float64 rounds"):
        solve(device)
