"""Read files of problems over variables of several values.

The formats are UAI's competition networks and toulbar2's cost function networks.

Public. Stands on conversions and problem; it does not know how problems are solved.
"""

from .reader import FORMATS, read_problem

__all__ = ["FORMATS", "read_problem"]
