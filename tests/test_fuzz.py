"""Some hundred hostile calls of everything public; and that the fuzz sees what it looks for."""

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from solvers import Problem, ProblemError, solve

ROOT = Path(__file__).parents[1]
CALLS = 400


@pytest.fixture
def fuzz(monkeypatch, tmp_path):
    """Gives a module of the fuzz; no data set is downloaded, none is kept."""
    monkeypatch.syspath_prepend(str(ROOT))
    for variable in ("STRUCTURED_VAE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return lambda name: importlib.import_module(f"scripts.fuzz.{name}")


@pytest.fixture
def verdict(fuzz, monkeypatch):
    """The verdict on a call that is put in the place of all others."""

    def of(call):
        monkeypatch.setattr(fuzz("calls"), "CALLS", {"planted": (1, lambda draw, folder: call)})
        return fuzz("verdicts").judged(0, 0)

    return of


def test_hostile_calls_get_errors_of_ours(fuzz):
    found = [fuzz("verdicts").judged(0, number) for number in range(CALLS)]
    assert [each for each in found if each.kind not in ("fine", "ours")] == []
    assert {each.call for each in found} == set(fuzz("calls").CALLS)
    assert (
        sum(each.kind == "fine" for each in found) > CALLS / 4
    )  # hostile, but not so that nothing gets deep


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
    assert "TypeError at " in found.group
    assert "solvers/problem.py" in verdict(lambda: Problem.instances(None, slice(1))).group


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
