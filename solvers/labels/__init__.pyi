from .backends.bits import Bits
from .call import solve
from .gibbs_distribution import LabelGibbs, gibbs
from .problem import LabelProblem
from .registry import available_solvers, solver_class
from .selection import Selection, select_solver
from .solver import LabelSolver

__all__ = [
    "Bits",
    "LabelGibbs",
    "LabelProblem",
    "LabelSolver",
    "Selection",
    "available_solvers",
    "gibbs",
    "select_solver",
    "solve",
    "solver_class",
]
