"""Marginal MAP by enumeration of all states."""

import itertools
import math

import numpy as np
import pytest

from solvers import (
    InfeasibleError,
    OptionError,
    Problem,
    ProblemError,
    UnsupportedProblemError,
    marginal_map,
    solve,
)
from solvers.conversions import from_ising, from_min_cut
from solvers.labels import LabelProblem, from_factors


def masses_of(problem, sizes, variables, fix=()):
    """{values: log of the sum of exp(score)} of some variables, and log Z, by enumeration.

    Both are sums over the states that agree with `fix`, pairs of a variable and its value.
    """
    sums = {}
    for state in itertools.product(*map(range, sizes)):
        if any(state[i] != value for i, value in fix):
            continue
        key = tuple(state[i] for i in variables)
        sums[key] = sums.get(key, 0.0) + math.exp(float(problem.score(list(state))))
    logs = {key: math.log(value) if value else -math.inf for key, value in sums.items()}
    return logs, math.log(sum(sums.values()))


@pytest.mark.parametrize("variables", [[], [2], [3, 0], [0, 1, 2, 3]])
def test_the_best_values_of_some_bits_are_those_of_enumeration(variables):
    generator = np.random.default_rng(len(variables))
    couplings = np.triu(generator.normal(size=(4, 4)), 1)
    problem = Problem.from_arrays(generator.normal(size=4), couplings)
    logs, log_z = masses_of(problem, [2] * 4, variables)
    for method in ("auto", "elimination"):
        best = marginal_map(problem, variables, method=method)
        assert list(best.assignment) == variables
        assert best.log_mass == pytest.approx(max(logs.values()))
        assert best.log_mass == pytest.approx(logs[tuple(best.assignment.values())])
        assert best.log_probability == pytest.approx(best.log_mass - log_z)
        assert best.states == 2 ** len(variables)


@pytest.mark.parametrize("fix", [{0: 1}, {4: 0, 1: 1}, {2: 1, 3: 0, 0: 0}])
def test_evidence_over_bits_is_that_of_enumeration(fix):
    generator = np.random.default_rng(len(fix))
    couplings = np.triu(generator.normal(size=(5, 5)), 1)
    problem = Problem.from_arrays(generator.normal(size=5), couplings)
    # Variable 2 is maximised, and has its value in the last case.
    logs, log_z = masses_of(problem, [2] * 5, [2, 1], fix.items())
    array = [fix.get(i, -1) for i in range(5)]
    for evidence in (fix, array):
        best = marginal_map(problem, [2, 1], fix=evidence)
        assert best.log_mass == pytest.approx(max(logs.values()))
        assert best.log_mass == pytest.approx(logs[tuple(best.assignment.values())])
        assert best.log_probability == pytest.approx(best.log_mass - log_z)
        assert best.states == len(logs)


@pytest.mark.parametrize("fix", [{0: 1}, {1: 2}, {2: 0, 0: 2}])
def test_evidence_over_labels_is_that_of_enumeration(fix):
    generator = np.random.default_rng(3)
    tables = generator.normal(size=(2, 3, 3))
    tables[0, 1, 0] = -np.inf
    unary = generator.normal(size=(3, 3))
    problem = LabelProblem.from_arrays(unary, tables, edges=[[0, 1], [1, 2]], sizes=[3, 3, 2])
    logs, log_z = masses_of(problem, [3, 3, 2], [1], fix.items())
    array = [fix.get(i, -1) for i in range(3)]
    for evidence in (fix, array):
        best = marginal_map(problem, [1], fix=evidence)
        assert best.log_mass == pytest.approx(max(logs.values()))
        assert best.log_mass == pytest.approx(logs[tuple(best.assignment.values())])
        assert best.log_probability == pytest.approx(best.log_mass - log_z)


def test_evidence_of_conversions_is_by_name():
    model = from_ising({"a": 1.0}, {("a", "b"): -2.0, ("b", "c"): 0.5}, offset=0.5)
    best = marginal_map(model, ["a"], fix={"b": 1})
    assert best.assignment == {"a": 1}
    masses = {a: sum(math.exp(-(0.5 + a - 2 * a + c / 2)) for c in (-1, 1)) for a in (-1, 1)}
    assert best.log_mass == pytest.approx(math.log(masses[1]))
    assert best.log_probability == pytest.approx(math.log(masses[1] / sum(masses.values())))
    cut = from_min_cut(3, [[0, 1], [1, 2]], [1.0, 0.5], source=0, sink=2)
    known = marginal_map(cut, [1], fix={1: 0})
    assert known.assignment == {1: 0}
    assert known.log_probability == pytest.approx(0.0, abs=1e-12)


def test_evidence_that_does_not_fit_says_why():
    pair = Problem.from_arrays([1.0, 0.0], [0.5], edges=[[0, 1]])
    with pytest.raises(OptionError, match="fix names the variable 2"):
        marginal_map(pair, [0], fix={2: 1})
    with pytest.raises(OptionError, match="value 3"):
        marginal_map(pair, [0], fix={1: 3})
    labels = LabelProblem.from_arrays(np.zeros((2, 2)), [[[0.0, -np.inf]] * 2], edges=[[0, 1]])
    with pytest.raises(OptionError, match="fix gives variable 1 the value 2"):
        marginal_map(labels, [0], fix={1: 2})
    with pytest.raises(InfeasibleError):
        marginal_map(labels, [0], fix={1: 1})
    with pytest.raises(OptionError, match="fix of a conversion is"):
        marginal_map(from_ising({"a": 1.0}, {}), ["a"], fix=[1])


@pytest.mark.parametrize("variables", [[1], [0, 2]])
def test_labels_may_forbid_values_and_pairs(variables):
    generator = np.random.default_rng(0)
    tables = generator.normal(size=(2, 3, 3))
    tables[0, 0, :] = -np.inf
    tables[1, 2, 1] = -np.inf
    unary = generator.normal(size=(3, 3))
    problem = LabelProblem.from_arrays(unary, tables, edges=[[0, 1], [1, 2]], sizes=[3, 3, 2])
    logs, log_z = masses_of(problem, [3, 3, 2], variables)
    best = marginal_map(problem, variables)
    assert best.log_mass == pytest.approx(max(logs.values()))
    assert best.log_mass == pytest.approx(logs[tuple(best.assignment.values())])
    assert best.log_probability == pytest.approx(best.log_mass - log_z)


def test_the_best_values_of_some_differ_from_those_of_all():
    # a = 0 has the best joint state, and a = 1 the larger sum over b.
    table = np.log([[0.4, 0.01, 0.01], [0.2, 0.19, 0.19]])
    model = from_factors(
        [2, 3], [((0, 1), table)], names=["a", "b"], values=[["no", "yes"], [4, 5, 6]]
    )
    assert solve(model).assignment["a"] == "no"
    best = marginal_map(model, ["a"])
    assert best.assignment == {"a": "yes"}
    assert math.exp(best.log_probability) == pytest.approx(0.58)
    assert math.exp(best.log_mass) == pytest.approx(0.58)


def test_conversions_keep_their_constant_and_words():
    model = from_ising({"a": 1.0}, {("a", "b"): -2.0}, offset=0.5)
    best = marginal_map(model, ["a"])
    assert best.assignment == {"a": -1}
    expected = math.log(sum(math.exp(-(0.5 - 1 + 2 * b)) for b in (-1, 1)))
    assert best.log_mass == pytest.approx(expected)


def test_what_is_out_of_reach_says_what_to_do():
    wide = Problem.from_arrays(np.ones(20))
    with pytest.raises(UnsupportedProblemError, match="maximise fewer variables"):
        marginal_map(wide, range(17))
    with pytest.raises(OptionError, match="20 is no variable"):
        marginal_map(wide, [20])
    with pytest.raises(OptionError, match="must be a list"):
        marginal_map(wide, 1)
    with pytest.raises(OptionError, match="comes twice"):
        marginal_map(wide, [1, 1])
    with pytest.raises(OptionError, match="'c' is no variable"):
        marginal_map(from_ising({"a": 1.0}, {}), ["c"])
    with pytest.raises(OptionError, match="'trw' gives no exact sums"):
        marginal_map(wide, [1], method="trw")
    with pytest.raises(ProblemError, match="a batch of 2"):
        marginal_map(Problem.from_arrays(np.ones((2, 3))), [0])
    with pytest.raises(ProblemError, match="expected a problem"):
        marginal_map([1.0], [0])
    forbidden = LabelProblem.from_arrays(np.zeros((2, 2)), np.full((2, 2), -np.inf), edges=[[0, 1]])
    with pytest.raises(InfeasibleError):
        marginal_map(forbidden, [0])


def test_the_source_and_the_sink_of_a_cut_keep_their_sides():
    cut = from_min_cut(3, [[0, 1], [1, 2]], [1.0, 0.5], source=0, sink=2)
    best = marginal_map(cut, [0, 2])
    assert best.assignment == {0: 1, 2: 0}
    assert best.log_probability == pytest.approx(0.0, abs=1e-12)
    assert best.states == 1
    both = marginal_map(cut, [2, 1])
    assert both.assignment == {2: 0, 1: 1}
    assert both.log_probability == pytest.approx(-math.log1p(math.exp(-0.5)))


def test_answers_are_hashable_and_equal_ones_have_one_hash():
    problem = Problem.from_arrays([1.0, -2.0], [0.5], edges=[[0, 1]])
    first = marginal_map(problem, [0])
    again = marginal_map(problem, [0])
    assert first == again
    assert len({first, again}) == 1


def test_the_best_of_thousands_of_joint_states_may_come_last():
    best = marginal_map(Problem.from_arrays(np.ones(12)), range(11))
    assert best.assignment == dict.fromkeys(range(11), 1)
    assert best.states == 2048
