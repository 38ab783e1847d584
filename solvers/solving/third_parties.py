"""Which backend of others searches what none of ours can be expected to prove."""

from __future__ import annotations

from ..registry import solver_class
from ..solver import ArgmaxSolver

CPLEX_COMMUNITY = 1000
"""Most variables of CPLEX's community edition."""


def third_party(n: int) -> ArgmaxSolver:
    """CPLEX where it is installed and takes so many variables, else CP-SAT."""
    return solver_class("cp_sat" if why_not_cplex(n) else "cplex")()


def why_not_cplex(n: int) -> str:
    """What keeps CPLEX from so many variables; empty for nothing."""
    if n > CPLEX_COMMUNITY:
        return f"CPLEX's community edition stops at {CPLEX_COMMUNITY} variables"
    missing = solver_class("cplex").missing_packages()
    return f"cplex would need {', '.join(missing)}" if missing else ""
