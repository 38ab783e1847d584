"""Problem files of other libraries and benchmarks."""

from .errors import ProblemFileError
from .reader import FORMATS, Format, read_problem

__all__ = ["FORMATS", "Format", "ProblemFileError", "read_problem"]
