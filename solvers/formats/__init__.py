"""Read and write the problem files of other libraries and benchmarks.

The package is public. It depends on conversions and problems, and not on how problems are solved.
"""

from .errors import ProblemFileError
from .reader import FORMATS, MAX_BYTES, Format, read_problem, read_problems
from .writing.writer import WRITABLE, format_of, write_problem
from .writing.written import Relation

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "WRITABLE",
    "Format",
    "ProblemFileError",
    "Relation",
    "format_of",
    "read_problem",
    "read_problems",
    "write_problem",
]
