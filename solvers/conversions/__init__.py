"""Convert problems from other conventions and back, with the sign and the constant of each.

Every `from_` function gives a `Conversion`, whose `value` turns a score into the original
objective. Every `to_` function writes -score(z), including the offset, so that its minimum is our
maximum. Only `to_networkx` writes the scores themselves.

Public. It depends on `problems`, and not on how problems are solved.
"""

from .answer import Answer
from .any_conversion import AnyConversion
from .conversion import Conversion
from .dimod import ConversionUnavailableError, from_dimod, to_dimod
from .graph.cuts import from_max_cut, from_min_cut
from .graph.igraph import from_igraph
from .graph.networkx import from_networkx, to_networkx
from .ising import from_ising, to_ising
from .polynomials.polynomial import from_polynomial
from .qubo import from_qubo, to_qubo

__all__ = [
    "Answer",
    "AnyConversion",
    "Conversion",
    "ConversionUnavailableError",
    "from_dimod",
    "from_igraph",
    "from_ising",
    "from_max_cut",
    "from_min_cut",
    "from_networkx",
    "from_polynomial",
    "from_qubo",
    "to_dimod",
    "to_ising",
    "to_networkx",
    "to_qubo",
]
