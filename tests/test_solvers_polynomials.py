"""Polynomials of any degree: reductions by enumeration of all states, answers by enumeration."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import OptionError, ProblemError, UnsupportedProblemError, gibbs, solve
from solvers.constraints import cardinality, linear
from solvers.conversions import from_polynomial

few = examples(25)
VALUES = {"bits": (0, 1), "spins": (-1, 1)}
REDUCTIONS = ["cliques", "substitution", "labels", "auto"]
KEYS = st.lists(st.sampled_from("abcde"), max_size=5).map(tuple)
TERMS = st.dictionaries(KEYS, st.integers(-4, 4), min_size=1, max_size=8)
WORDS = st.tuples(st.sampled_from(REDUCTIONS), st.sampled_from(["bits", "spins"]))
SENSES = st.sampled_from(["minimise", "maximise"])


def values_of(terms, names, values, offset=0):
    """{assignment: exact objective}, by enumeration."""
    sums = {}
    for state in itertools.product(values, repeat=len(names)):
        v = dict(zip(names, state, strict=True))
        sums[state] = Fraction(offset) + sum(
            Fraction(number) * math.prod(v[name] for name in key) for key, number in terms.items()
        )
    return sums


@few
@given(terms=TERMS, words=WORDS, sense=SENSES)
def test_answers_are_those_of_enumeration(terms, words, sense):
    reduction, variables = words
    model = from_polynomial(terms, 0.5, sense, variables=variables, reduction=reduction)
    sums = values_of(terms, model.names, VALUES[variables], 0.5)
    best = min(sums.values()) if sense == "minimise" else max(sums.values())
    answer = solve(model)
    assert sums[tuple(answer.assignment.values())] == best
    assert (answer.value, answer.bound, answer.optimal) == (float(best), float(best), True)


@few
@given(terms=TERMS, words=WORDS, sense=SENSES)
def test_the_best_auxiliary_bits_give_the_objective_of_every_state(terms, words, sense):
    reduction, variables = words
    model = from_polynomial(terms, sense=sense, variables=variables, reduction=reduction)
    added = model.problem.n - len(model.names)
    scores = {}
    if reduction == "labels" or added > 9:
        return
    for state in itertools.product((0, 1), repeat=model.problem.n):
        score = float(model.problem.score(list(state)))
        first = state[: len(model.names)]
        scores[first] = max(scores.get(first, -math.inf), score)
    for state, score in scores.items():
        assert model.value(score) == pytest.approx(model.objective(state), abs=1e-9)
        assert float(model.problem.score(model.start(list(state)))) == pytest.approx(score)


def test_a_bound_on_scores_is_one_on_the_objective():
    model = from_polynomial({("a", "b", "c"): 2.0, ("a",): -1.0}, reduction="cliques")
    wrong = [1, 1, 0, 0]  # the auxiliary bit should be 1
    assert model.objective(wrong) == -1.0
    assert model.objective_bound(wrong, 5.0) <= -5.0
    assert model.objective([1, 1, 0]) == -1.0


@few
@given(terms=st.dictionaries(KEYS, st.fractions(-2, 2, max_denominator=7), min_size=1, max_size=5))
def test_exact_numbers_stay_exact(terms):
    model = from_polynomial(terms, Decimal("0.1"), "maximise", reduction="cliques")
    sums = values_of(terms, model.names, (0, 1), Decimal("0.1"))
    answer = solve(model)
    exact = sums[tuple(answer.assignment.values())]
    assert answer.value == float(exact)
    assert answer.bound >= float(max(sums.values()))
    assert not answer.optimal or exact == max(sums.values())


def test_auto_takes_what_adds_the_fewest_digits():
    one = from_polynomial({("a", "b", "c", "d", "e"): 1.0}, sense="maximise")
    assert one.problem.n == 6
    shared = from_polynomial({("a", "b", name): -1.0 for name in "cdefg"})
    assert shared.problem.n == 8
    dense = {key: 1.0 for size in (3, 4, 5, 6) for key in itertools.combinations("abcdef", size)}
    assert from_polynomial(dense).problem.kind == "labels"


@pytest.mark.parametrize("reduction", ["cliques", "substitution", "labels"])
def test_fix_start_constraints_and_callbacks_are_over_the_originals_variables(reduction):
    generator = np.random.default_rng(1)
    keys = list(itertools.combinations("abcdef", 3))
    terms = dict(zip(keys, generator.integers(-5, 6, len(keys)).tolist(), strict=True))
    model = from_polynomial(terms, reduction=reduction)
    sums = values_of(terms, model.names, (0, 1))
    fixed = solve(model, fix={"a": 1, "b": 1})
    assert fixed.value == min(value for state, value in sums.items() if state[:2] == (1, 1))
    start = dict.fromkeys("abcdef", 1)
    begun = solve(model, start=start)
    assert begun.value == min(sums.values())
    if reduction != "labels":
        assert solve(model, fix=[1, 1, -1, -1, -1, -1]).value == fixed.value
        assert solve(model, start=[1, 0, 1, 0, 1, 0]).value == begun.value
        three = solve(model, constraints=[cardinality(3)])
        assert three.value == min(value for state, value in sums.items() if sum(state) == 3)
        rule = linear({"a": 1, "f": 1}, ">=", 2)
        assert solve(model, constraints=[rule]).value == min(
            value for state, value in sums.items() if state[0] + state[5] == 2
        )


def test_several_answers_and_sums_need_labels():
    terms = {("a", "b", "c"): -3, ("a",): 1}
    bits = from_polynomial(terms, reduction="cliques")
    with pytest.raises(UnsupportedProblemError, match="reduction='labels'"):
        solve(bits, k_best=2)
    with pytest.raises(UnsupportedProblemError, match="reduction='labels'"):
        gibbs(bits)
    labels = from_polynomial(terms, reduction="labels")
    sums = values_of(terms, labels.names, (0, 1))
    assert [answer.value for answer in solve(labels, k_best=8)] == sorted(map(float, sums.values()))
    log_z = math.log(sum(math.exp(-value) for value in sums.values()))
    assert gibbs(labels).log_partition == pytest.approx(log_z)


def test_faults_are_named():
    with pytest.raises(ProblemError, match=r"Write \('a',\)"):
        from_polynomial({"a": 1.0})
    with pytest.raises(ProblemError, match="the term of 'a' and 'b' is nan"):
        from_polynomial({("a", "b"): math.nan})
    with pytest.raises(ProblemError, match="a polynomial is a dict"):
        from_polynomial([1.0])
    with pytest.raises(OptionError, match="did you mean 'cliques'"):
        from_polynomial({(): 1.0}, reduction="clique")
    many = tuple(f"x{i}" for i in range(17))
    with pytest.raises(ProblemError, match="17 spins"):
        from_polynomial({many: 1.0}, variables="spins")
    with pytest.raises(ProblemError, match="reduction='cliques'"):
        from_polynomial({many: 1.0}, reduction="labels")
    assert solve(from_polynomial({many: -1.0})).value == -1.0
    assert solve(from_polynomial({}, 3.0)).value == 3.0
