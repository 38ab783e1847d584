from .errors import (
    InfeasibleError,
    OptionError,
    ProblemError,
    ProblemTooLargeError,
    SolveFailedError,
    SolverError,
    SolverUnavailableError,
    TimeLimitError,
    UnknownSolverError,
    UnsupportedProblemError,
)
from .labels.call import solve_labels
from .limits.deadline import Deadline
from .limits.interrupts import interrupt_solves
from .limits.progress import Progress
from .problems.problem import Problem
from .registry import available_solvers, solver_class
from .solution import Maximiser, Solution, SolveInterrupted
from .solver import ArgmaxSolver, Capabilities
from .solving.call import solve
from .solving.prepared import prepare
from .solving.selection import select_solver
from .solving.streams import Failure, solve_many
from .summing.call import gibbs, uniforms_shape
from .summing.marginal_map import marginal_map

__all__ = [
    "ArgmaxSolver",
    "Capabilities",
    "Deadline",
    "Failure",
    "InfeasibleError",
    "Maximiser",
    "OptionError",
    "Problem",
    "ProblemError",
    "ProblemTooLargeError",
    "Progress",
    "Solution",
    "SolveFailedError",
    "SolveInterrupted",
    "SolverError",
    "SolverUnavailableError",
    "TimeLimitError",
    "UnknownSolverError",
    "UnsupportedProblemError",
    "available_solvers",
    "gibbs",
    "interrupt_solves",
    "marginal_map",
    "prepare",
    "select_solver",
    "solve",
    "solve_labels",
    "solve_many",
    "solver_class",
    "uniforms_shape",
]
