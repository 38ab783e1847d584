"""Solvers by name: the built-in ones, imported on use, and those that other packages plug in."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Literal, overload

from .errors import SolverUnavailableError, UnknownSolverError, shortened
from .solver import ArgmaxSolver, Capabilities

if TYPE_CHECKING:
    from .backends.elimination import Elimination

ENTRY_POINT_GROUP = "structured_vae.solvers"

BUILT_IN = {
    "independent": "solvers.backends.independent:Independent",
    "exhaustive": "solvers.backends.exhaustive:Exhaustive",
    "max_flow": "solvers.backends.max_flow:MaxFlow",
    "branch_and_bound": "solvers.backends.branch_and_bound:BranchAndBound",
    "pymaxflow": "solvers.backends.pymaxflow:Pymaxflow",
    "elimination": "solvers.backends.elimination:Elimination",
    "mini_buckets": "solvers.backends.mini_buckets:MiniBuckets",
    "dual_ascent": "solvers.backends.dual_ascent:DualAscent",
    "cycle_cuts": "solvers.backends.cycle_cuts:CycleCuts",
    "cplex": "solvers.backends.cplex:Cplex",
    "cp_sat": "solvers.backends.cp_sat:CpSat",
    "math_opt": "solvers.backends.math_opt:MathOpt",
    "local_search": "solvers.backends.local_search:LocalSearch",
}


@dataclass(frozen=True)
class SolverInfo:
    """One row of the table of backends.

    Attributes:
        name: registry name.
        origin: "built in", or the distribution that plugs the solver in.
        capabilities: None for a plug-in, which is loaded only when it is named.
        missing: packages that it needs and that are not installed.
    """

    name: str
    origin: str
    capabilities: Capabilities | None
    missing: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether the solver can be used now."""
        return not self.missing


@overload
def solver_class(name: Literal["elimination"]) -> type[Elimination]: ...
@overload
def solver_class(name: str) -> type[ArgmaxSolver]: ...
def solver_class(name: str) -> type[ArgmaxSolver]:
    """The solver class registered under `name`, imported now.

    Raises:
        UnknownSolverError: no solver has that name; the message suggests near ones.
        SolverUnavailableError: a plug-in of that name cannot be imported.

    Example:
        >>> solver_class("max_flow").capabilities.supermodular_only
        True
    """
    if not isinstance(name, str):
        raise UnknownSolverError(
            f"a solver is a name of available_solvers(), 'auto' or an object of ArgmaxSolver; got {shortened(name)}"
        )
    if name in BUILT_IN:
        return _built_in(name)
    plugged_in = _plug_ins()
    if name not in plugged_in:
        known = [*BUILT_IN, *plugged_in]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        unknown = f"no solver is called {shortened(name)}"
        raise UnknownSolverError(f"{unknown}; {hint}There are: {', '.join(known)}")
    try:
        return plugged_in[name].load()  # type: ignore[no-any-return]  # the entry point's promise
    except ImportError as error:
        raise SolverUnavailableError(
            f"the plug-in solver '{name}' ({plugged_in[name].value}) cannot be imported: {error}"
        ) from error


@cache
def _built_in(name: str) -> type[ArgmaxSolver]:
    module, _, attribute = BUILT_IN[name].partition(":")
    return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]  # a name in a table of ours


def available_solvers() -> tuple[SolverInfo, ...]:
    """Every solver that can be named: what it takes, and what is missing to use it.

    Example:
        >>> [info.name for info in available_solvers()][:4]
        ['independent', 'exhaustive', 'max_flow', 'branch_and_bound']
    """
    built_in = [
        SolverInfo(name, "built in", cls.capabilities, cls.missing_packages())
        for name, cls in ((name, solver_class(name)) for name in BUILT_IN)
    ]
    plugged_in = [
        SolverInfo(name, point.dist.name if point.dist else point.value, None, ())
        for name, point in _plug_ins().items()
    ]
    return (*built_in, *plugged_in)


def _plug_ins() -> dict[str, EntryPoint]:
    points = entry_points(group=ENTRY_POINT_GROUP)
    return {point.name: point for point in points if point.name not in BUILT_IN}
