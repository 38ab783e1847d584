"""Solvers by name, the choice of `auto`, and plug-ins."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from solvers import Problem, available_solvers, select_solver, solve, solver_class
from solvers.instances import dense, grid, spin_glass, supermodular, tree

GENERATOR = np.random.default_rng(0)

CHOICES = {
    "no pairwise scores": (Problem.from_arrays(np.ones((2, 50))), "independent"),
    "small": (dense(15, 2, GENERATOR).problem(), "exhaustive"),
    "supermodular": (supermodular(40, 2, GENERATOR).problem(), "max_flow"),
    "grid": (grid(12, 12, 1, GENERATOR).problem(), "max_flow"),
    "tree": (tree(300, 2, GENERATOR).problem(), "elimination"),
    "enumerable": (dense(23, 1, GENERATOR).problem(), "exhaustive"),
    "spin glass": (spin_glass(6, 6, 1, GENERATOR).problem(), "elimination"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_auto_explains_itself(case):
    problem, expected = CHOICES[case]
    selection = select_solver(problem)
    assert selection.solver.name == expected
    assert len(selection.reason) > 20
    assert solve(*_arrays(problem), edges=problem.edges).solver == expected


def _arrays(problem):
    return (problem.unary, problem.pairwise)


def test_auto_is_exact_on_a_tree():
    instances = tree(30, 2, GENERATOR)
    solution = solve(instances.unary, instances.pairwise, edges=instances.edges)
    assert solution.optimal.all()


def test_table_of_backends():
    rows = {info.name: info for info in available_solvers()}
    assert {"independent", "exhaustive", "max_flow", "elimination", "cplex", "cp_sat", "math_opt"} <= set(
        rows
    )
    assert not rows["local_search"].capabilities.exact
    assert rows["exhaustive"].capabilities.max_size == 25
    assert rows["max_flow"].capabilities.supermodular_only
    assert all(info.installed for info in rows.values())


def test_solvers_never_import_torch():
    code = """
        import sys
        import solvers
        solvers.available_solvers()
        solvers.solve([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]])
        assert "torch" not in sys.modules
        assert "ortools" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


PLUG_IN = """
import numpy as np
from solvers import ArgmaxSolver, Capabilities, Maximiser

class Zeros(ArgmaxSolver):
    name = "zeros"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, time_limit):
        bound = np.maximum(problem.unary, 0).sum(1) + np.maximum(problem.pairwise, 0).sum(1)
        return Maximiser(np.zeros((problem.batch, problem.n), np.int8), bound)
"""


def test_a_plug_in_is_found_by_its_entry_point(tmp_path):
    (tmp_path / "zeros_solver.py").write_text(PLUG_IN)
    metadata = tmp_path / "zeros_solver-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: zeros-solver\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[structured_vae.solvers]\nzeros = zeros_solver:Zeros\nbroken = no_such_module:X\n"
    )
    code = """
        import sys
        import numpy as np
        import solvers
        from solvers.testing import check_conformance
        rows = {info.name: info for info in solvers.available_solvers()}
        assert rows["zeros"].origin == "zeros-solver" and rows["zeros"].capabilities is None
        assert "zeros_solver" not in sys.modules
        solution = solvers.solve(np.array([1.0, -1.0]), solver="zeros")
        assert solution.solver == "zeros" and float(solution.score) == 0 and not solution.optimal
        assert float(solution.bound) == 1.0
        check_conformance(solvers.solver_class("zeros")(), count=30)
        try:
            solvers.solve(np.ones(2), solver="broken")
        except solvers.SolverUnavailableError as error:
            assert "no_such_module" in str(error)
        else:
            raise AssertionError
        assert solvers.select_solver(solvers.Problem.from_arrays(np.ones(2))).solver.name != "zeros"
    """
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    subprocess.run([sys.executable, "-c", path + textwrap.dedent(code)], check=True)


def test_conformance_kit_catches_liars():
    from solvers import ArgmaxSolver, Capabilities, Maximiser
    from solvers.testing import check_conformance

    class Liar(ArgmaxSolver):
        name = "liar"
        capabilities = Capabilities(exact=True)

        def _argmax(self, problem, time_limit):
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8))

    class Underestimates(ArgmaxSolver):
        name = "underestimates"
        capabilities = Capabilities(exact=False)

        def _argmax(self, problem, time_limit):
            z = np.zeros((problem.batch, problem.n), np.int8)
            return Maximiser(z, np.full(problem.batch, 0.0))

    for solver in (Liar(), Underestimates()):
        with pytest.raises(AssertionError, match=solver.name):
            check_conformance(solver, count=20)


def test_registry_name_is_the_class_name():
    for info in available_solvers():
        cls = solver_class(info.name)
        assert cls.name == info.name
        assert "".join(part.capitalize() for part in info.name.split("_")) == cls.__name__
