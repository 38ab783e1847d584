from .backends.bits import Bits
from .call import solve
from .completions import LabelCompletions
from .conversions import LabelConversion, from_dimod, from_factors, from_pgmpy
from .gibbs_distribution import LabelGibbs, gibbs
from .problem import LabelProblem
from .registry import available_solvers, solver_class
from .selection import Selection, select_solver
from .solver import LabelSolver
from .streams import solve_many

__all__ = [
    "Bits",
    "LabelCompletions",
    "LabelConversion",
    "LabelGibbs",
    "LabelProblem",
    "LabelSolver",
    "Selection",
    "available_solvers",
    "from_dimod",
    "from_factors",
    "from_pgmpy",
    "gibbs",
    "select_solver",
    "solve",
    "solve_many",
    "solver_class",
]
