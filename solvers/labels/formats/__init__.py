"""Read and write files of problems over variables of several values.

Among the formats are UAI's competition networks and toulbar2's cost function networks.

Public. It depends on conversions and problems, and not on how problems are solved.
"""

from .reader import FORMATS, read_problem
from .writer import WRITABLE, write_problem

__all__ = ["FORMATS", "WRITABLE", "read_problem", "write_problem"]
