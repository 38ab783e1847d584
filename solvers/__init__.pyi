from .errors import (
    OptionError,
    ProblemError,
    ProblemTooLargeError,
    SolveFailedError,
    SolverError,
    SolverUnavailableError,
    UnknownSolverError,
    UnsupportedProblemError,
)
from .gibbs_distribution.distribution import Gibbs, gibbs, uniforms_shape
from .prepared import Prepared, prepare
from .problem import Problem
from .registry import SolverInfo, available_solvers, solver_class
from .selection import Selection, naming_alternatives, resolve, select_solver, solve, solve_problem
from .solution import Maximiser, Solution
from .solver import ArgmaxSolver, Capabilities
from .streams import Failure, solve_many

__all__ = [
    "ArgmaxSolver",
    "Capabilities",
    "Failure",
    "Gibbs",
    "Maximiser",
    "OptionError",
    "Prepared",
    "Problem",
    "ProblemError",
    "ProblemTooLargeError",
    "Selection",
    "Solution",
    "SolveFailedError",
    "SolverError",
    "SolverInfo",
    "SolverUnavailableError",
    "UnknownSolverError",
    "UnsupportedProblemError",
    "available_solvers",
    "gibbs",
    "naming_alternatives",
    "prepare",
    "resolve",
    "select_solver",
    "solve",
    "solve_many",
    "solve_problem",
    "solver_class",
    "uniforms_shape",
]
