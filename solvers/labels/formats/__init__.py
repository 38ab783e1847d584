"""Files of problems over variables of several values: networks of the UAI competitions, cost functions of toulbar2.

Public. Stands on conversions and problem; it does not know how problems are solved.
"""

from .reader import FORMATS, read_problem

__all__ = ["FORMATS", "read_problem"]
