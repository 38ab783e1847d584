"""Other descriptions of label problems, with the way back to their words; they know nothing of solvers."""

from .conversion import LabelConversion
from .dimod import from_dimod
from .factors import Factor, from_factors
from .pgmpy import from_pgmpy

__all__ = ["Factor", "LabelConversion", "from_dimod", "from_factors", "from_pgmpy"]
