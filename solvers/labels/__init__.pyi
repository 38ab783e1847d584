from .call import solve
from .conversions import from_dimod, from_factors, from_pgmpy
from .gibbs_distribution import gibbs
from .prepared import prepare
from .problem import LabelProblem
from .solver import LabelSolver

__all__ = [
    "LabelProblem",
    "LabelSolver",
    "from_dimod",
    "from_factors",
    "from_pgmpy",
    "gibbs",
    "prepare",
    "solve",
]
