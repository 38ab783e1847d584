"""Problem files of other libraries and benchmarks.

Public. Stands on conversions and problem; it does not know how problems are solved.
"""

from .errors import ProblemFileError
from .reader import FORMATS, Format, read_problem

__all__ = ["FORMATS", "Format", "ProblemFileError", "read_problem"]
