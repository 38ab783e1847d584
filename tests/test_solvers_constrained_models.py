"""Constrained quadratic models: integers, products in constraints and soft constraints."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from optional import optional

from solvers import InfeasibleError, OptionError, ProblemError, UnsupportedProblemError, solve
from solvers.constraints import at_least, implies, linear, one_of
from solvers.conversions import from_dimod
from solvers.labels import from_factors

dimod = optional("dimod")

SENSES = ["<=", ">=", "=="]


def objective_of(model, sample):
    """The objective plus the penalties of soft constraints; None if a hard one is violated."""
    value = model.objective.energy(sample)
    for constraint in model.constraints.values():
        left = constraint.lhs.energy(sample) - constraint.rhs
        sense = constraint.sense.value
        violation = {"<=": max(0.0, left), ">=": max(0.0, -left), "==": abs(left)}[sense]
        if constraint.lhs.is_soft():
            power = 2 if constraint.lhs.penalty() == "quadratic" else 1
            value += constraint.lhs.weight() * violation**power
        elif violation > 1e-9:
            return None
    return value


def best_of(model, values):
    """The least objective, by enumeration."""
    samples = (
        dict(zip(values, state, strict=True)) for state in itertools.product(*values.values())
    )
    found = [objective_of(model, sample) for sample in samples]
    return min(value for value in found if value is not None)


def random_model(generator, spins=False):
    """Five bits with a hard, a soft and a product constraint."""
    make = dimod.Spin if spins else dimod.Binary
    x = [make(name) for name in "abcde"]
    model = dimod.ConstrainedQuadraticModel()
    couplings = generator.integers(-4, 5, (5, 5)).tolist()
    pairs = itertools.combinations(range(5), 2)
    linear = sum(couplings[i][i] * x[i] for i in range(5))
    model.set_objective(linear + sum(couplings[i][j] * x[i] * x[j] for i, j in pairs) + 0.5)
    return model, x


@pytest.mark.parametrize("penalty", ["linear", "quadratic"])
@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("spins", [False, True])
def test_soft_constraints_cost_their_weights(penalty, sense, spins):
    generator = np.random.default_rng(3)
    model, x = random_model(generator, spins)
    numbers = generator.integers(-3, 4, 5).tolist()
    left = sum(number * one for number, one in zip(numbers, x, strict=True))
    left = left + x[0] * x[1]
    comparison = {"<=": left <= -1, ">=": left >= 2, "==": left == 1}[sense]
    model.add_constraint(comparison, label="soft", weight=0.75, penalty=penalty)
    values = dict.fromkeys("abcde", (-1, 1) if spins else (0, 1))
    conversion = from_dimod(model)
    answer = solve(conversion)
    assert answer.value == pytest.approx(best_of(model, values))
    assert answer.optimal
    assert answer.value == pytest.approx(objective_of(model, answer.assignment))
    for state in itertools.product((0, 1), repeat=5):
        sample = [2 * v - 1 if spins else v for v in state]
        expected = objective_of(model, dict(zip("abcde", sample, strict=True)))
        assert conversion.objective(state) == pytest.approx(expected)


@pytest.mark.parametrize("sense", SENSES)
def test_products_in_hard_constraints_hold(sense):
    for seed in range(3):
        model, x = random_model(np.random.default_rng(seed))
        left = 2 * x[0] * x[1] - 3 * x[1] * x[2] + x[3] * x[4] + x[0]
        comparison = {"<=": left <= -1, ">=": left >= 2, "==": left == 1}[sense]
        model.add_constraint(comparison, label="products")
        answer = solve(from_dimod(model))
        assert answer.value == pytest.approx(best_of(model, dict.fromkeys("abcde", (0, 1))))
        assert objective_of(model, answer.assignment) == pytest.approx(answer.value)
        assert answer.optimal
        with pytest.raises(UnsupportedProblemError, match="auxiliary bits"):
            solve(from_dimod(model), k_best=2)


def integers():
    """A model of two integers, a bit and a spin, with a linear constraint."""
    i = dimod.Integer("i", lower_bound=-2, upper_bound=3)
    j = dimod.Integer("j", upper_bound=3)
    b = dimod.Binary("b")
    s = dimod.Spin("s")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(i * i - 3 * i * j + 2 * b * i + s - 0.5 * j + 1.25)
    model.add_constraint(i + 2 * j - s <= 4.5, label="capacity")
    return model, {"i": range(-2, 4), "j": range(4), "b": (0, 1), "s": (-1, 1)}


@pytest.mark.parametrize("solver", ["auto", "cp_sat"])
def test_bounded_integers_are_labels_or_bits(solver):
    model, values = integers()
    conversion = from_dimod(model)
    answer = solve(conversion, solver=solver)
    assert answer.value == best_of(model, values) == objective_of(model, answer.assignment)
    assert answer.optimal
    assert answer.assignment["i"] in values["i"]
    fixed = solve(conversion, fix={"i": -2, "s": 1}, solver=solver)
    assert fixed.value == best_of(model, {**values, "i": (-2,), "s": (1,)})
    several = solve(conversion, k_best=5, solver=solver)
    every = [
        objective_of(model, dict(zip(values, state, strict=True)))
        for state in itertools.product(*values.values())
    ]
    assert [one.value for one in several] == sorted(v for v in every if v is not None)[:5]


def test_integers_without_constraints_start_anywhere():
    model, values = integers()
    model.remove_constraint("capacity")
    conversion = from_dimod(model)
    start = {"i": 3, "j": 3, "b": 0, "s": -1}
    assert solve(conversion, start=start).value == best_of(model, values)
    place = conversion.places
    kept = solve(conversion, constraints=[one_of([(place["i"], 0), (place["j"], 0)])])
    assert (kept.assignment["i"] == -2) != (kept.assignment["j"] == 0)


def test_a_soft_constraint_is_read_if_few_violations_remain_of_many_sums():
    model = dimod.ConstrainedQuadraticModel()
    first = dimod.Integer("first", upper_bound=2000)
    second = dimod.Integer("second", lower_bound=1990, upper_bound=2000)
    model.set_objective(-first)
    model.add_constraint(first - second <= 0, label="integers", weight=2.0)
    assert from_dimod(model).objective([2000, 0]) == -2000 + 2.0 * 10
    bits = [dimod.Binary(f"x{k}") for k in range(40)]
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(sum(bits))
    covered = sum((1 + 0.5**k) * bit for k, bit in enumerate(bits))
    model.add_constraint(1 - covered <= 0, label="bits", weight=0.25)
    assert solve(from_dimod(model)).value == 0.25


def test_a_soft_constraint_with_a_large_product_is_refused():
    i = dimod.Integer("i", upper_bound=2000)
    j = dimod.Integer("j", upper_bound=2000)
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(i)
    model.add_constraint(i * j <= 1, label="wish", weight=1.0)
    with pytest.raises(ProblemError, match="'wish' has a product of 4004001 pairs"):
        from_dimod(model)


def test_models_that_are_out_of_reach_are_named():
    i = dimod.Integer("i", upper_bound=3)
    b = dimod.Binary("b")
    large = dimod.Integer("large", upper_bound=2000)
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(i)
    model.add_constraint(i * large <= 1, label="products")
    with pytest.raises(ProblemError, match="'products' has a product of 8004 pairs"):
        from_dimod(model)
    soft = dimod.ConstrainedQuadraticModel()
    soft.set_objective(i)
    soft.add_constraint(3 * i + 0.5 * large <= 1, label="wish", weight=1.0)
    with pytest.raises(ProblemError, match="'wish' can be violated by more than 1024 amounts"):
        from_dimod(soft)
    wide = dimod.ConstrainedQuadraticModel()
    wide.set_objective(dimod.Integer("w"))
    with pytest.raises(ProblemError, match=r"the integer 'w' is from 0 to .*upper_bound"):
        from_dimod(wide)
    real = dimod.ConstrainedQuadraticModel()
    real.set_objective(dimod.Real("r"))
    with pytest.raises(ProblemError, match="REAL"):
        from_dimod(real)
    fine = dimod.ConstrainedQuadraticModel()
    bits = [dimod.Binary(f"x{k}") for k in range(20)]
    fine.set_objective(bits[0])
    left = sum(3**k * one for k, one in enumerate(bits))
    fine.add_constraint(left <= 1, label="fine", weight=1.0)
    with pytest.raises(ProblemError, match="'fine' can be violated by more than 1024 amounts"):
        from_dimod(fine)
    none = dimod.ConstrainedQuadraticModel()
    none.set_objective(b)
    none.add_constraint(2 * b == 1, label="never")
    with pytest.raises(InfeasibleError, match="never"):
        solve(from_dimod(none))


def test_constraints_name_the_values_of_labels_in_the_originals_words():
    model, values = integers()
    model.remove_constraint("capacity")
    conversion = from_dimod(model)
    capacity = linear({"i": 1, "j": 2, "s": -1}, "<=", 4.5)
    answer = solve(conversion, constraints=[capacity])
    i = dimod.Integer("i", lower_bound=-2, upper_bound=3)
    j = dimod.Integer("j", upper_bound=3)
    model.add_constraint(i + 2 * j - dimod.Spin("s") <= 4.5, label="again")
    assert answer.value == best_of(model, values)
    coats = from_factors(
        [2, 2], [((0,), [0.0, 1.0])], names=["coat", "hat"], values=[["red", "blue"]] * 2
    )
    rules = [
        implies(("coat", "blue"), ("hat", "red")),
        at_least(1, [("hat", "blue"), ("coat", "blue")]),
    ]
    assert solve(coats, constraints=rules).assignment == {"coat": "blue", "hat": "red"}
    with pytest.raises(OptionError, match=r"'red' is no number; name a value: \('coat', 'red'\)"):
        solve(coats, constraints=[linear({"coat": 1}, "<=", 1)])
    with pytest.raises(OptionError, match="cannot be 'green'"):
        solve(coats, constraints=[one_of([("coat", "green")])])
    with pytest.raises(OptionError, match="did you mean 'coat'"):
        solve(coats, constraints=[one_of([("coats", "red")])])
    with pytest.raises(OptionError, match="names"):
        solve(coats.problem, constraints=[one_of([("coat", "red")])])
    with pytest.raises(OptionError, match="names"):
        solve([1.0], constraints=[one_of([("coat", "red")])])


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("weight", [None, 0.75])
def test_products_and_soft_constraints_over_integers(sense, weight):
    i = dimod.Integer("i", lower_bound=-1, upper_bound=1)
    j = dimod.Integer("j", upper_bound=2)
    s = dimod.Spin("s")
    values = {"i": range(-1, 2), "j": range(3), "s": (-1, 1)}
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(i * i - 3 * i * j + s - 0.5 * j + 1.25)
    left = 2 * i * j - i * i + j + 0.5 * s
    comparison = {"<=": left <= -1.5, ">=": left >= 4.5, "==": left == 1.5}[sense]
    model.add_constraint(comparison, label="both", weight=weight)
    conversion = from_dimod(model)
    answer = solve(conversion)
    assert answer.value == pytest.approx(best_of(model, values))
    assert answer.value == pytest.approx(objective_of(model, answer.assignment))
    assert answer.optimal
    for state in itertools.product(*(range(len(numbers)) for numbers in values.values())):
        named = {name: numbers[k] for (name, numbers), k in zip(values.items(), state, strict=True)}
        places = [state[list(values).index(name)] for name in conversion.names]
        value = objective_of(model, named)
        assert value is None or conversion.objective(places) == pytest.approx(value)
    if weight is None:
        assert solve(conversion, k_best=1)[0].value == pytest.approx(answer.value)
    else:
        with pytest.raises(UnsupportedProblemError, match="auxiliary"):
            solve(conversion, k_best=2)


def bits_named(names, as_integers):
    """The model's variables, as bits or as integers from 0 to 1."""
    make = partial(dimod.Integer, upper_bound=1) if as_integers else dimod.Binary
    return [make(name) for name in names]


@pytest.mark.parametrize("as_integers", [False, True])
@settings(max_examples=8, deadline=None)
@example([0.9047591070196372, 1.119544772160992])
@given(coefficients=st.lists(st.decimals("0.1", 2, places=16).map(float), min_size=2, max_size=2))
def test_a_violation_of_rounded_coefficients_is_allowed_at_its_price(as_integers, coefficients):
    assume(len(set(coefficients)) == 2)
    model = dimod.ConstrainedQuadraticModel()
    a, b = bits_named("ab", as_integers)
    model.add_constraint(coefficients[0] * a + coefficients[1] * b <= 0.05, "s", weight=2.0)
    answer = solve(from_dimod(model), fix={"a": 1, "b": 1})
    expected = 2 * (sum(coefficients) - 0.05)
    assert answer.value == pytest.approx(expected, rel=1e-14)
    assert answer.bound == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("as_integers", [False, True])
def test_violations_that_rounding_could_confuse_are_refused(as_integers):
    model = dimod.ConstrainedQuadraticModel()
    a, b = bits_named("ab", as_integers)
    model.add_constraint(1e16 * a + 0.3 * b <= 0.1, label="wish", weight=1.0)
    with pytest.raises(ProblemError, match="'wish' differ by less than rounding"):
        from_dimod(model)


def test_decimal_coefficients_of_spins_are_exact():
    a, b, c = map(dimod.Spin, "abc")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(0.1 * a + 0.2 * b - 0.3 * c + 0.7 * a * b)
    model.add_constraint(0.1 * a + 0.2 * b + 0.3 * c == 0)
    answer = solve(from_dimod(model))
    assert answer.assignment == {"a": -1, "b": -1, "c": 1}
    assert answer.optimal
    assert from_dimod(model).objective([1, 0, 0]) == pytest.approx(-0.5, rel=1e-15)


def test_spins_beside_binaries_have_their_values_everywhere():
    a, b, s = dimod.Binary("a"), dimod.Binary("b"), dimod.Spin("s")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(a - 2 * b + s + a * s)
    model.add_constraint(a + b >= 1)
    conversion = from_dimod(model)
    samples = [
        dict(zip("abs", sample, strict=True))
        for sample in itertools.product((0, 1), (0, 1), (-1, 1))
    ]
    samples = [sample for sample in samples if sample["a"] + sample["b"] >= 1]
    answers = solve(conversion, k_best=len(samples))
    energies = sorted(objective_of(model, sample) for sample in samples)
    assert [answer.value for answer in answers] == pytest.approx(energies)
    for answer in answers:
        assert answer.value == pytest.approx(objective_of(model, answer.assignment))
        assert answer.assignment["s"] in (-1, 1)
    allowed = [sample for sample in samples if 3 * sample["s"] + sample["b"] >= 3]
    rule = linear({"s": 3, "b": 1}, ">=", 3)
    answer = solve(conversion, constraints=[rule])
    assert answer.value == pytest.approx(min(objective_of(model, sample) for sample in allowed))
    assert solve(conversion, fix={"s": 1}).assignment["s"] == 1
    with pytest.raises(OptionError, match="-1"):
        solve(conversion, fix={"s": 0})


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("as_integers", [False, True])
def test_coefficients_that_are_not_finite_are_refused(as_integers, number):
    a, b = bits_named("ab", as_integers)
    model = dimod.ConstrainedQuadraticModel()
    model.add_constraint(a + number * b <= 1)
    with pytest.raises(ProblemError, match="coefficients must be finite"):
        from_dimod(model)
