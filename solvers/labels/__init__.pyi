from .backends.bits import Bits
from .call import available_solvers, solve, solver_class
from .conversions import LabelConversion, from_dimod, from_factors, from_pgmpy
from .gibbs_distribution import LabelGibbs, gibbs
from .prepared import prepare
from .problem import LabelProblem
from .solver import LabelSolver

__all__ = [
    "Bits",
    "LabelConversion",
    "LabelGibbs",
    "LabelProblem",
    "LabelSolver",
    "available_solvers",
    "from_dimod",
    "from_factors",
    "from_pgmpy",
    "gibbs",
    "prepare",
    "solve",
    "solver_class",
]
