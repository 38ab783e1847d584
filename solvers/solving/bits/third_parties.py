"""Choose a third-party backend for problems that our own backends are unlikely to prove."""

from __future__ import annotations

from ...registry import solver_class
from ...solver import ArgmaxSolver

CPLEX_COMMUNITY = 1000
"""Maximum number of variables of CPLEX's community edition."""


def third_party(n: int) -> ArgmaxSolver:
    """Return CPLEX if it is installed and takes `n` variables, else CP-SAT.

    `dual_ascent` if neither is available.
    """
    if not why_not_cplex(n):
        return solver_class("cplex")()
    name = "cp_sat"
    if why_not_cp_sat():
        name = "dual_ascent"
    return solver_class(name)()


def why_not_cplex(n: int) -> str:
    """Return why CPLEX cannot take this many variables; empty if it can."""
    if n > CPLEX_COMMUNITY:
        return f"CPLEX's community edition stops at {CPLEX_COMMUNITY} variables"
    return _missing("cplex")


def why_not_cp_sat() -> str:
    """Return why CP-SAT cannot run; empty if it can."""
    return _missing("cp_sat")


def why_not_highs() -> str:
    """Return why HiGHS cannot run; empty if it can."""
    return _missing("highs")


def _missing(name: str) -> str:
    missing = solver_class(name).missing_packages()
    if missing:
        return f"{name} would need {', '.join(missing)}"
    return ""
