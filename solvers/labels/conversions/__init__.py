"""Convert other descriptions of label problems, and translate solutions back.

Conversions do not depend on solvers.
"""

from .conversion import LabelConversion
from .dimod import from_dimod
from .factors import Factor, from_factors
from .pgmpy import from_pgmpy

__all__ = ["Factor", "LabelConversion", "from_dimod", "from_factors", "from_pgmpy"]
