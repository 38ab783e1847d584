"""Some hundred hostile calls of everything public; and that the fuzz sees what it looks for."""

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solvers import InfeasibleError, Problem, ProblemError, solve

ROOT = Path(__file__).parents[1]
CALLS = 400


@pytest.fixture
def fuzz(from_checkout, monkeypatch, tmp_path):
    """Gives a module of the fuzz; no data set is downloaded, none is kept."""
    for variable in ("STRUCTURED_VAE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return lambda name, **values: from_checkout(f"scripts.fuzz.{name}", **values)


@pytest.fixture
def verdict(fuzz):
    """The verdict on a call that is put in the place of all others."""

    def of(call):
        fuzz("calls", CALLS={"planted": (1, lambda draw, folder: call)})
        return fuzz("verdicts").judged(0, 0)

    return of


@pytest.mark.parametrize("count", [60, pytest.param(CALLS, marks=pytest.mark.slow)])
def test_hostile_calls_get_errors_of_ours(fuzz, count):
    verdicts = [fuzz("verdicts").judged(0, number) for number in range(count)]
    assert [verdict for verdict in verdicts if verdict.kind not in ("fine", "ours")] == []
    # The calls are hostile, but many of them get past the checks of their arguments.
    assert sum(verdict.kind == "fine" for verdict in verdicts) > count / 4


def test_every_call_is_drawn(fuzz):
    draws = [fuzz("draws").Draw(0, number) for number in range(3 * CALLS)]
    assert {fuzz("calls").drawn_name(draw) for draw in draws} == set(fuzz("calls").CALLS)


def test_a_call_can_be_made_again_by_itself(fuzz):
    first, again = (fuzz("verdicts").judged(3, 17) for _ in range(2))
    assert replace(first, seconds=0.0) == replace(again, seconds=0.0)


def raising(error):
    def call():
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProblemError("short"), "ours"),
        (ProblemError("x" * 3000), "long"),
        (ValueError("of Python"), "foreign"),
        (MemoryError(), "foreign"),
        (RuntimeWarning("overflow"), "foreign"),
    ],
    ids=repr,
)
def test_what_errors_are(verdict, error, kind):
    assert verdict(raising(error)).kind == kind


def test_a_foreign_error_is_named_with_its_place_in_our_code(verdict):
    found = verdict(lambda: Problem.from_arrays([1.0]).instances(None).negative_pair(3))
    assert found.kind == "foreign"
    assert "ValueError at " in found.group
    assert "solvers/problems/problem.py" in verdict(lambda: Problem.instances(None, slice(1))).group


@pytest.mark.parametrize("solver", ["exhaustive", "max_flow"])
def test_false_claims_are_refuted(verdict, solver):
    problem = Problem.from_arrays([[1.0, -2.0], [1.0, 2.0]], [0.5], edges=[[0, 1]])
    solution = solve(problem, solver=solver)
    assert verdict(lambda: [(problem, solution)]).kind == "fine"
    better = Problem.from_arrays([[1.0, -2.0], [1.0, 2.5]], [0.5], edges=[[0, 1]])
    assert verdict(lambda: [(better, solution)]).kind == "false"
    open_ = replace(solution, optimal=solution.optimal & False)
    assert "says the bound" in verdict(lambda: [(better, open_)]).group
    assert verdict(lambda: [(better, replace(open_, bound=solution.bound + 1))]).kind == "fine"


def test_the_report_groups_by_place(fuzz, verdict):
    found = [verdict(raising(KeyError(text))) for text in "ab"] + [verdict(lambda: None)]
    text = fuzz("__main__").report(found)
    assert "2 foreign: KeyError at no line of ours" in text
    assert text.splitlines()[2].split() == ["all", "1", "0", "2", "0", "0", "0"]


@pytest.fixture
def two_bits(fuzz):
    """The states of two bits with the scores 2, 1 and 0.5 for both."""
    unary, pairwise = np.array([[2.0, 1.0]]), np.array([[0.5]])
    return fuzz("enumeration").States.of_bits(unary, pairwise, np.array([[0, 1]]))


def best_two(**changes):
    solution = solve([[2.0, 1.0]], [[0.5]], edges=[[0, 1]], k_best=2)
    return replace(solution, **{name: np.array([value]) for name, value in changes.items()})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"bound": [9.0, 9.0], "optimal": [False, False]}, None),
        ({"z": [[1, 1], [1, 1]], "score": [3.5, 3.5], "bound": [3.5, 3.5]}, "a state comes twice"),
        ({"z": [[1, 0], [1, 1]], "score": [2.0, 3.5], "optimal": [False, False]}, "not in order"),
        ({"z": [[1, 1], [0, 1]], "score": [3.5, 1.0], "bound": [3.5, 2.0]}, "falsely optimal"),
        ({"bound": [3.5, 1.5]}, "below another one"),
        ({"score": [3.5, 1.9], "optimal": [True, False]}, "a score is wrong"),
        ({"z": [[1, 1], [1, 2]]}, "cannot have"),
        ({"score": [3.5, -np.inf], "optimal": [True, False]}, "not -1"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_false_claims_about_several_states_are_refuted(fuzz, two_bits, changes, words):
    check, false = fuzz("enumeration").check_ranking, fuzz("outcomes").FalseClaim
    if words is None:
        return check(two_bits, best_two(**changes), 2)
    with pytest.raises(false, match=words):
        check(two_bits, best_two(**changes), 2)
    return None


def test_a_feasible_problem_must_not_be_called_infeasible(fuzz, two_bits):
    def search():
        raise InfeasibleError()

    answered, false = fuzz("enumeration").answered, fuzz("outcomes").FalseClaim
    with pytest.raises(false, match="infeasible"):
        answered(two_bits, search)
    with pytest.raises(InfeasibleError):
        answered(two_bits.only(np.zeros(4, bool)), search)


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (os.abort, (), "the process crashed: exit code -6"),
        (time.sleep, (60,), "no end in time: sleep"),
        (int, ("x",), "ValueError at no line of ours"),
        (len, ([],), None),
    ],
    ids=["crash", "hang", "error", "nothing"],
)
def test_a_crash_or_a_hang_in_another_process_is_an_outcome(fuzz, function, arguments, words):
    outcomes = fuzz("outcomes")
    if words is None:
        return outcomes.in_child(function, arguments, 60.0)
    with pytest.raises(outcomes.Decided, match=words) as found:
        outcomes.in_child(function, arguments, 1.0 if function is time.sleep else 60.0)
    assert found.value.kind == "foreign"
    return None


@pytest.mark.parametrize("answer", ["error", "late"])
def test_an_ignored_ctrl_c_is_a_false_claim(fuzz, answer):
    calls, false = fuzz("signal_calls", SOON=0.05), fuzz("outcomes").FalseClaim

    def search():
        try:
            time.sleep(5)
        except KeyboardInterrupt:
            if answer == "error":
                raise ProblemError("no state was found in time") from None
            time.sleep(0.2)

    with pytest.raises(false, match="Ctrl-C"):
        calls._interrupted(search, 0.01)


def test_sums_of_float32_scores_are_compared_in_float64(fuzz):
    verdict = fuzz("verdicts").judged(1303, 140)  # log Z near 0, of scores in float32
    assert (verdict.call, verdict.kind) == ("marginal_map", "fine")
