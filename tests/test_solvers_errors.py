"""Bad input: what is said about it."""

import importlib.util

import numpy as np
import pytest

from solvers import (
    OptionError,
    Problem,
    ProblemError,
    SolverError,
    SolverUnavailableError,
    UnknownSolverError,
    UnsupportedProblemError,
    available_solvers,
    gibbs,
    solve,
    solver_class,
)

EDGES = [[0, 1], [1, 2]]
NAN, INF = float("nan"), float("inf")

BAD_PROBLEMS = {
    "pairwise of another size": ((np.ones(3), np.zeros((4, 4))), {}, "must be [..., 3, 3]"),
    "pairwise without matrix or edges": ((np.ones(3), np.zeros(3)), {}, "pass edges"),
    "edges of another length": ((np.ones(3), np.zeros(3)), {"edges": EDGES}, "must be [..., 2]"),
    "edges without pairwise": ((np.ones(3),), {"edges": EDGES}, "without pairwise"),
    "edges of floats": (
        (np.ones(3), np.zeros(2)),
        {"edges": [[0.0, 1.0], [1.0, 2.0]]},
        "integers [e, 2]",
    ),
    "batches that do not broadcast": (
        (np.ones((2, 3)), np.zeros((5, 3, 3))),
        {},
        "do not broadcast",
    ),
    "NaN": ((np.array([[1.0, NAN]]),), {}, "unary[0, 1] is nan"),
    "infinity": ((np.ones(3), np.array([0, -INF])), {"edges": EDGES}, "pairwise[1] is -inf"),
    "NaN in a matrix": ((np.ones(2), np.array([[0, NAN], [0, 0]])), {}, "pairwise[0, 1] is nan"),
    "no variables": ((np.ones((4, 0)),), {}, "n >= 1"),
    "no instances": ((np.ones((0, 3)),), {}, "empty batch"),
    "no instances of pairwise": (
        (np.ones(3), np.ones((0, 2))),
        {"edges": EDGES},
        "the batch is empty",
    ),
    "a number": ((1.0,), {}, "unary must be [..., n]"),
    "asymmetric pairwise": (
        (np.ones(2), np.array([[0, 1.0], [2.0, 0]])),
        {},
        "entry (0, 1) is 1.0 and (1, 0) is 2.0",
    ),
    "lower triangular pairwise": ((np.ones(2), np.array([[0, 0], [2.0, 0]])), {}, "fold them"),
    "diagonal": ((np.ones(2), np.eye(2)), {}, "non-zero diagonal, at (0, 0)"),
    "a loop": ((np.ones(3), np.ones(1)), {"edges": [[1, 1]]}, "joins 1 to itself"),
    "a pair twice": (
        (np.ones(3), np.ones(2)),
        {"edges": [[0, 1], [1, 0]]},
        "are the same pair (0, 1)",
    ),
    "a pair outside": ((np.ones(3), np.ones(1)), {"edges": [[0, 3]]}, "variables are 0..2"),
    "complex numbers": ((np.ones(3, complex),), {}, "real numbers"),
    "words": ((np.array(["a"]),), {}, "real numbers"),
    "a masked array": ((np.ma.array([1.0, 2.0], mask=[0, 1]),), {}, "masked"),
    "lists of unequal lengths": (([[1.0, 2.0], [3.0]],), {}, "equal lengths"),
    "pairs of unequal lengths": (([1.0, 2.0], [1.0]), {"edges": [[0], [0, 1]]}, "equal lengths"),
    "overflowing sums": ((np.full(3, 1e308),), {}, "could overflow float64"),
    "sums that a solver doubles twice": ((np.full(3, 2.0**1021),), {}, "could overflow float64"),
}


@pytest.mark.parametrize("case", BAD_PROBLEMS)
def test_bad_problems(case):
    arguments, options, message = BAD_PROBLEMS[case]
    with pytest.raises(ProblemError) as caught:
        solve(*arguments, **options)
    print(f"{case}: {caught.value}")
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_negative_pair_for_max_flow():
    unary, pairwise = np.ones((2, 3)), np.array([[1.0, 2.0, 3.0], [0.5, -0.25, 1.0]])
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(unary, pairwise, edges=[*EDGES, [0, 2]], solver="max_flow")
    print(caught.value)
    assert "pair (1, 2) in instance 1 is -0.25" in str(caught.value)
    assert {"exhaustive", "cplex", "cp_sat"} <= set(caught.value.alternatives)
    assert "local_search" not in caught.value.alternatives  # it proves nothing


def test_balanced_signs_for_max_flow():
    generator = np.random.default_rng(0)
    unary, pairwise = generator.standard_normal((20, 8)), np.abs(generator.standard_normal((20, 8, 8)))
    flips = generator.choice([-1.0, 1.0], (20, 8))
    pairwise = np.triu(pairwise * flips[:, :, None] * flips[:, None, :], 1)
    solution = solve(unary, pairwise, solver="max_flow")
    np.testing.assert_allclose(solution.score, solve(unary, pairwise, solver="exhaustive").score, rtol=1e-12)
    assert solution.optimal.all()


def test_forty_variables_for_exhaustive():
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(np.ones(40), np.array([1.0]), edges=[[0, 1]], solver="exhaustive")
    print(caught.value)
    assert "n = 40 and it takes at most 25" in caught.value.reasons[0]
    assert "max_flow" in str(caught.value)


def test_pairwise_for_independent():
    with pytest.raises(UnsupportedProblemError, match="it takes none"):
        solve(np.ones(3), np.ones(2), edges=EDGES, solver="independent")


def test_unknown_solver():
    with pytest.raises(UnknownSolverError, match="did you mean 'max_flow'") as caught:
        solve(np.ones(3), solver="maxflow")
    print(caught.value)
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize(("solver", "package"), [("cplex", "docplex"), ("cp_sat", "ortools")])
def test_missing_package(monkeypatch, solver, package):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == package else real(name, *rest),
    )
    with pytest.raises(SolverUnavailableError, match="pip install") as caught:
        solve(np.ones(3), solver=solver)
    print(caught.value)
    assert package in str(caught.value)
    assert isinstance(caught.value, ImportError)
    row = next(info for info in available_solvers() if info.name == solver)
    assert not row.installed
    assert row.missing == (package,)


@pytest.mark.parametrize("limit", [0, -1.0, NAN, "1", [1.0]])
def test_time_limit_out_of_range(limit):
    with pytest.raises(OptionError, match="time_limit"):
        solve(np.ones(3), time_limit=limit)


@pytest.mark.parametrize("solver", ["local_search", "branch_and_bound", "cp_sat", "cplex", "math_opt"])
@pytest.mark.parametrize("limit", [float("inf"), np.float32(60), np.int64(60)])
def test_time_limits_of_any_number_type(solver, limit):
    if solver == "local_search" and limit < np.inf:
        limit = np.float32(0.01)  # it uses the time up
    solution = solve([1.0, -2.0, 3.0], [5.0], edges=[[0, 1]], solver=solver, time_limit=limit)
    assert float(solution.score) == 7.0


def test_every_error_is_ours():
    assert issubclass(OptionError, SolverError)
    assert issubclass(UnsupportedProblemError, (SolverError, ValueError))


def test_errors_come_before_work():
    with pytest.raises(ProblemError):
        Problem.from_arrays(np.full((2, 3), NAN))


def test_a_refusal_without_a_search_for_others_names_none():
    with pytest.raises(UnsupportedProblemError) as caught:
        solver_class("independent")().solve(Problem.from_arrays(np.ones(3), np.ones(2), edges=EDGES))
    assert caught.value.alternatives is None
    assert "other" not in str(caught.value)
    with pytest.raises(UnsupportedProblemError) as caught:
        gibbs(np.ones(21), np.ones(2), edges=EDGES, method="enumeration")
    assert "No other does" not in str(caught.value)  # elimination would
