"""Read the problem files of other libraries and benchmarks.

The package is public. It uses conversions and problem; it does not know how problems are solved.
"""

from .errors import ProblemFileError
from .reader import FORMATS, Format, read_problem, read_problems

__all__ = ["FORMATS", "Format", "ProblemFileError", "read_problem", "read_problems"]
