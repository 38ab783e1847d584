from .backends.bits import Bits
from .call import (
    Selection,
    available_solvers,
    select_solver,
    solve,
    solve_many,
    solver_class,
)
from .completions import LabelCompletions
from .conversions import LabelConversion, from_dimod, from_factors, from_pgmpy
from .gibbs_distribution import LabelGibbs, gibbs
from .prepared import PreparedLabels, prepare
from .problem import LabelProblem
from .solver import LabelSolver

__all__ = [
    "Bits",
    "LabelCompletions",
    "LabelConversion",
    "LabelGibbs",
    "LabelProblem",
    "LabelSolver",
    "PreparedLabels",
    "Selection",
    "available_solvers",
    "from_dimod",
    "from_factors",
    "from_pgmpy",
    "gibbs",
    "prepare",
    "select_solver",
    "solve",
    "solve_many",
    "solver_class",
]
