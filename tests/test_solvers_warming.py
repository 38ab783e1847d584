"""Kernels compiled ahead of time."""

import json
import subprocess
import sys

import numpy as np
import pytest

from solvers import solver_class, warming, warmup
from solvers.algorithms.presolve.roof_duality import _halve, halved
from solvers.labels.registry import BUILT_IN as OF_LABELS
from solvers.problem import Problem
from solvers.registry import BUILT_IN

ROOTS_LEFT = """
    import json, sys
    from numba.core.registry import CPUDispatcher
    from solvers import warmup
    warmup()
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("solvers.")]:
        for value in vars(module).values():
            if isinstance(value, CPUDispatcher):
                found[value.py_func.__module__, value.py_func.__name__] = value
    bodies = [value.py_func for value in found.values()]
    called = {id(body.__globals__.get(name)) for body in bodies for name in body.__code__.co_names}
    print(json.dumps([key for key, value in found.items() if id(value) not in called and not value.overloads]))
"""
"""Prints the kernels that no other kernel calls and that have not been compiled, nor read from disk."""

SECONDS_LATER = [["solvers.algorithms.cycle_cuts.sweep", name] for name in ("extend_table", "drop_slots")]
"""What only sweeps over millions of states call, which take longer than it does to compile it."""


TURNS = [*BUILT_IN, "gibbs", *(f"labels {name}" for name in (*OF_LABELS, "gibbs"))]


def test_every_backend_has_its_turn(monkeypatch):
    monkeypatch.setattr(warming, "_problems", lambda: [Problem.from_arrays([1.0, -1.0])])
    for name in ("_gibbs", "_label_gibbs", "_hard", "_solve_labels"):
        monkeypatch.setattr(warming, name, lambda *names: ())
    seen = []
    assert list(warmup(lambda *turn: seen.append(turn))) == TURNS
    assert seen == [(name, done, len(TURNS)) for done, name in enumerate(TURNS)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_backend_gets_problems_of_both_types_and_none_that_take_long(name):
    solver = solver_class(name)()
    if missing := solver.missing_packages():
        pytest.skip(f"needs {missing}")
    taken = [problem for problem in warming._problems() if warming._takes(solver, problem)]
    assert {problem.unary.dtype.type for problem in taken} >= {np.float64}
    if name != "independent":
        assert {problem.pairwise.dtype.type for problem in taken if problem.e} == {np.float32, np.float64}
    if name == "elimination":
        assert max(solver.entries(problem) for problem in taken if problem.e) < 1 << 20
    if name == "max_flow":  # in one word, in a matrix
        assert {problem.n for problem in taken if problem.negative_pair() is None} >= {12, 80}


@pytest.mark.slow
def test_no_kernel_is_left_out():
    lines = "\n".join(line[4:] for line in ROOTS_LEFT.splitlines())
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SECONDS_LATER
    assert "kernels are being compiled" not in done.stderr


def test_views_of_arrays_wait_for_no_kernel_of_their_own():
    plain = np.random.default_rng(0).normal(size=(30, 30))
    problem = Problem.from_arrays(np.ones((1, 30)), np.triu(plain, 1))
    expected = halved(problem)
    known = len(_halve.signatures)
    strided = Problem.from_arrays(np.ones((1, 60))[:, ::2], np.triu(plain, 1))
    fixed = np.ones((1, 30))
    fixed.flags.writeable = False
    for other in (strided, Problem.from_arrays(fixed, np.triu(plain, 1))):
        for found, known_array in zip(halved(other), expected, strict=True):
            np.testing.assert_array_equal(found, known_array)
    assert len(_halve.signatures) == known
