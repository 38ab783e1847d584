"""Which backend of others searches what none of ours can be expected to prove."""

from __future__ import annotations

from ..registry import solver_class
from ..solver import ArgmaxSolver

CPLEX_COMMUNITY = 1000
"""Most variables of CPLEX's community edition."""


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
    """What keeps CPLEX from so many variables; empty for nothing."""
    if n > CPLEX_COMMUNITY:
        return f"CPLEX's community edition stops at {CPLEX_COMMUNITY} variables"
    return _missing("cplex")


def why_not_cp_sat() -> str:
    """What keeps CP-SAT; empty for nothing."""
    return _missing("cp_sat")


def why_not_highs() -> str:
    """What keeps HiGHS; empty for nothing."""
    return _missing("highs")


def _missing(name: str) -> str:
    missing = solver_class(name).missing_packages()
    if missing:
        return f"{name} would need {', '.join(missing)}"
    return ""
