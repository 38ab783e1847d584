"""What importing `solvers` and solving with it loads, in processes of their own."""

import ast
import subprocess
import sys

import pytest
from optional import needs

import solvers

SLOW = (
    "torch",
    "joblib",
    "networkx",
    "ortools",
    "docplex",
    "highspy",
    "jaxtyping",
    "numpy.f2py",
    "importlib.metadata",
)


def loaded(*steps):
    """Return the slow packages that one fresh process has loaded after each step."""
    show = f"print([name for name in {SLOW} if name in sys.modules])"
    code = "\n".join(["import sys", *(f"{step}\n{show}" for step in steps)])
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return [set(ast.literal_eval(line)) for line in answer.stdout.splitlines()]


def test_nothing_slow_is_loaded_before_a_backend_needs_it():
    steps = (
        "import solvers; solvers.solve; solvers.Problem; solvers.solver_class; solvers.select_solver",
        "from solvers import solve; solve([1.0, -1.0], solver='independent')",
        "solve([1.0, -1.0])",
        "solve([1.0, -1.0], [[0.0, 1.0], [0.0, 0.0]])",
        "solvers.available_solvers()",
        "from solvers import gibbs; gibbs([1.0, -1.0])",
        "from solvers import solve_many",
    )
    plug_ins = {"importlib.metadata"}
    assert loaded(*steps) == [set()] * 4 + [plug_ins] * 2 + [plug_ins | {"joblib"}]


def test_public_names_come_from_their_modules():
    assert sorted(solvers.__all__) == solvers.__all__ == dir(solvers)
    for name in solvers.__all__:
        assert getattr(solvers, name).__module__.startswith("solvers.")
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = solvers.no_such_name


def test_submodules_are_found_through_the_face():
    code = "from solvers import conversions, formats, instances, testing; import solvers.formats"
    assert loaded(code)[0] <= {"networkx", "importlib.metadata"}


@pytest.mark.parametrize(
    "names", [("cycle_cuts", "cp_sat", "highs"), ("highs", "cp_sat", "cycle_cuts")]
)
def test_two_packages_with_the_same_library_live_in_one_process(names):
    """Both `highspy` and OR-Tools bring HiGHS: of two shared libraries of one name the first would serve both."""
    needs(*names)
    code = f"""
import numpy as np
from solvers import instances, solver_class
problem = instances.spin_glass(4, 4, 1, np.random.default_rng(0)).problem()
print([bool(solver_class(name)().solve(problem).optimal.all()) for name in {names}])
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(answer.stdout) == [True] * 3
