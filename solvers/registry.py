"""Look up solvers of every kind of problem by name.

Built-in solvers are imported on first use. Other packages can plug in theirs.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from .errors import (
    OptionError,
    ProblemTooLargeError,
    SolverUnavailableError,
    UnknownSolverError,
    did_you_mean,
    shortened,
)
from .method_names import OF_BITS, OF_LABELS
from .solver import ArgmaxSolver, Capabilities, CertifiedSolver

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .backends.branch_and_bound import BranchAndBound
    from .backends.clique_cover import CliqueCover
    from .backends.cycle_cuts import CycleCuts
    from .backends.elimination import Elimination
    from .constraint_rows import Rows

BUILT_IN = {
    "independent": "solvers.backends.independent:Independent",
    "exhaustive": "solvers.backends.exhaustive:Exhaustive",
    "max_flow": "solvers.backends.max_flow:MaxFlow",
    "branch_and_bound": "solvers.backends.branch_and_bound:BranchAndBound",
    "pymaxflow": "solvers.backends.pymaxflow:Pymaxflow",
    "elimination": "solvers.backends.elimination:Elimination",
    "mini_buckets": "solvers.backends.mini_buckets:MiniBuckets",
    "dual_ascent": "solvers.backends.dual_ascent:DualAscent",
    "clique_cover": "solvers.backends.clique_cover:CliqueCover",
    "cycle_cuts": "solvers.backends.cycle_cuts:CycleCuts",
    "semidefinite": "solvers.backends.semidefinite:Semidefinite",
    "cplex": "solvers.backends.cplex:Cplex",
    "cp_sat": "solvers.backends.cp_sat:CpSat",
    "highs": "solvers.backends.highs:Highs",
    "local_search": "solvers.backends.local_search:LocalSearch",
}
"""Module and class of each built-in solver of bits."""

BUILT_IN_OF_LABELS = {
    "independent": "solvers.labels.backends.independent:Independent",
    "exhaustive": "solvers.labels.backends.exhaustive:Exhaustive",
    "elimination": "solvers.labels.backends.elimination:Elimination",
    "dual_ascent": "solvers.labels.backends.dual_ascent:DualAscent",
    "expansion_moves": "solvers.labels.backends.expansion_moves:ExpansionMoves",
    "bits": "solvers.labels.backends.bits:Bits",
    "toulbar2": "solvers.labels.backends.toulbar2:Toulbar2",
}
"""Module and class of each built-in solver of labels."""


@dataclass(frozen=True)
class SolverInfo:
    """Name, package and capabilities of a solver: one row of `available_solvers()`.

    Attributes:
        name: the registry name.
        origin: "built in", or the distribution that plugs the solver in.
        capabilities: the capabilities; None for a plug-in that is not loaded.
        missing: the packages that it needs and that are not installed.
        fault: why a plug-in cannot be loaded; empty if it can, or if that was not tried.
    """

    name: str
    origin: str
    capabilities: Capabilities | None
    missing: tuple[str, ...]
    fault: str = ""

    @property
    def installed(self) -> bool:
        """Whether the solver can be used now."""
        return not self.missing and not self.fault


SolverT = TypeVar("SolverT", bound=CertifiedSolver[Any])


@dataclass(frozen=True, eq=False)
class Registry(Generic[SolverT]):
    """Solvers of problems of one kind, by name.

    Attributes:
        kind: "bits" or "labels", the name that problems and solvers use.
        built_in: "module:class" by name; the module is imported on first use.
        group: the group of entry points by which other packages plug in solvers.
        base: the name of the base class of every solver of the kind, for errors.
        method_names: the name to suggest for other names of methods.
    """

    kind: str
    built_in: Mapping[str, str]
    group: str
    base: str
    method_names: Mapping[str, str]

    def solver_class(self, name: str) -> type[SolverT]:
        """Import and return the class that is registered under a name.

        Raises:
            UnknownSolverError: no solver has that name; the message suggests a similar name, or the
                solver whose method has that name elsewhere.
            SolverUnavailableError: a plug-in of that name cannot be imported.
        """
        if not isinstance(name, str):
            raise UnknownSolverError(
                f"a solver is a name of available_solvers(), 'auto' or an object of {self.base}; "
                f"got {shortened(name)}{_object_hint(name)}"
            )
        if name in self.built_in:
            # The table of built-in names holds solver classes only.
            return _imported(self.built_in[name])  # type: ignore[no-any-return]
        plugged_in = self._plug_ins()
        if name not in plugged_in:
            names = [*self.built_in, *plugged_in]
            hint = did_you_mean(name, names, self.method_names)
            advice = ""
            if not hint:
                advice = (
                    ". If it is the solver of another package, install that package. Your own "
                    "solver needs no name: pass the object, solver=MySolver()"
                )
            unknown = f"no solver is called {shortened(name)}"
            raise UnknownSolverError(f"{unknown}; {hint}there are: {', '.join(names)}{advice}")
        try:
            # The entry point promises a solver class.
            return plugged_in[name].load()  # type: ignore[no-any-return]
        except ImportError as error:
            raise SolverUnavailableError(
                f"the plug-in solver '{name}' ({plugged_in[name].value}) "
                f"cannot be imported: {error}"
            ) from error

    def named(self, solver: Any) -> SolverT | None:
        """Return the solver object that `solver` means for every problem; None for "auto".

        Args:
            solver: "auto", a name, or a solver object, which is returned.

        Raises:
            UnknownSolverError: no solver has that name, or an object of another kind.
            SolverUnavailableError: a plug-in of that name cannot be imported.
        """
        if isinstance(solver, str):  # an array would not compare with a name as one value
            if solver == "auto":
                return None
            return self.solver_class(solver)()
        if isinstance(solver, CertifiedSolver) and solver.kind == self.kind:
            # Every solver of a kind is an object of its base class.
            return solver  # type: ignore[return-value]
        return self.solver_class(solver)()

    def available(self, load: bool = False) -> tuple[SolverInfo, ...]:
        """List every solver with a name: what it can take, and which package it still needs.

        Args:
            load: whether to import plug-ins too, so that their rows have capabilities.
        """
        built_in = [self._row(name, "built in") for name in self.built_in]
        plugged_in = []
        for name, point in self._plug_ins().items():
            if point.dist:
                origin = point.dist.name
            else:
                origin = point.value
            if load:
                row = self._loaded_row(name, origin)
            else:
                row = SolverInfo(name, origin, None, ())
            plugged_in.append(row)
        return (*built_in, *plugged_in)

    def _row(self, name: str, origin: str) -> SolverInfo:
        cls = self.solver_class(name)
        return SolverInfo(name, origin, cls.capabilities, cls.missing_packages())

    def _loaded_row(self, name: str, origin: str) -> SolverInfo:
        """Return the row of a plug-in, from the attributes of its class."""
        try:
            return self._row(name, origin)
        except SolverUnavailableError as error:
            return SolverInfo(name, origin, None, (), fault=str(error))
        except Exception as error:  # a plug-in may raise any exception
            reason = f"{type(error).__name__}: {error}"
            fault = f"the plug-in solver '{name}' is not a class of solvers: {reason}"
            return SolverInfo(name, origin, None, (), fault=fault)

    def able(self, problem: Any, rows: Rows | None = None) -> tuple[str, ...]:
        """Return the names of the installed built-in exact solvers that can take a problem.

        Args:
            problem: a problem of this kind.
            rows: constraints that the solvers have to take too; None for none.
        """
        return tuple(
            name for name in self.built_in if _can_take(self.solver_class(name), problem, rows)
        )

    def _plug_ins(self) -> dict[str, EntryPoint]:
        metadata = importlib.import_module("importlib.metadata")  # a tenth of the import's time
        points = metadata.entry_points(group=self.group)
        return {point.name: point for point in points if point.name not in self.built_in}


def _object_hint(solver: object) -> str:
    """Return the hint for a solver class in place of an object; empty for other values."""
    if isinstance(solver, type) and issubclass(solver, CertifiedSolver):
        return f"; pass an object of this class: solver={solver.__name__}()"
    return ""


def _can_take(solver: type[CertifiedSolver[Any]], problem: Any, rows: Rows | None) -> bool:
    if not solver.capabilities.exact or solver.missing_packages():
        return False
    try:
        if solver().why_not(problem):
            return False
        return rows is None or solver().why_not_within(problem, rows) is None
    except ProblemTooLargeError:  # the estimate of memory may raise
        return False


@cache
def _imported(address: str) -> Any:
    module, _, attribute = address.partition(":")
    return getattr(importlib.import_module(module), attribute)


BITS: Registry[ArgmaxSolver] = Registry(
    "bits", BUILT_IN, "structured_vae.solvers", "ArgmaxSolver", OF_BITS
)
LABELS: Registry[Any] = Registry(
    "labels", BUILT_IN_OF_LABELS, "structured_vae.label_solvers", "LabelSolver", OF_LABELS
)

REGISTRIES: Mapping[str, Registry[Any]] = {"bits": BITS, "labels": LABELS}
"""Solvers of each kind of problem."""


def registry_of(kind: str) -> Registry[Any]:
    """Return the solvers of a kind of problem.

    Raises:
        OptionError: the kind is unknown.
    """
    if not isinstance(kind, str) or kind not in REGISTRIES:
        raise OptionError(
            f"kind must be {' or '.join(map(repr, REGISTRIES))}; got {shortened(kind)}"
        )
    return REGISTRIES[kind]


@overload
def solver_class(
    name: Literal["elimination"], kind: Literal["bits"] = "bits"
) -> type[Elimination]: ...
@overload
def solver_class(
    name: Literal["branch_and_bound"], kind: Literal["bits"] = "bits"
) -> type[BranchAndBound]: ...
@overload
def solver_class(
    name: Literal["clique_cover"], kind: Literal["bits"] = "bits"
) -> type[CliqueCover]: ...
@overload
def solver_class(
    name: Literal["cycle_cuts"], kind: Literal["bits"] = "bits"
) -> type[CycleCuts]: ...
@overload
def solver_class(name: str, kind: Literal["bits"] = "bits") -> type[ArgmaxSolver]: ...
@overload
def solver_class(name: str, kind: str) -> type[CertifiedSolver[Any]]: ...
def solver_class(name: str, kind: str = "bits") -> type[CertifiedSolver[Any]]:
    """Import and return the solver class that is registered under `name`.

    Args:
        name: the name of a solver.
        kind: of the problems that it solves: "bits" or "labels".

    Raises:
        UnknownSolverError: no solver has that name; the message suggests similar names.
        SolverUnavailableError: a plug-in of that name cannot be imported.
        OptionError: the kind is unknown.

    Example:
        >>> solver_class("max_flow").capabilities.supermodular_only
        True
        >>> solver_class("toulbar2", "labels").capabilities.exact
        True
    """
    return registry_of(kind).solver_class(name)


def available_solvers(kind: str = "bits", *, load: bool = False) -> tuple[SolverInfo, ...]:
    """List every solver with a name: what it can take, and which package it still needs.

    Args:
        kind: the kind of problems that they solve: "bits" or "labels". Problems over labels also
            take the solvers of bits, which then get the labels encoded as bits.
        load: import plug-ins too, so that their rows have capabilities.

    Raises:
        OptionError: the kind is unknown.

    Example:
        >>> [info.name for info in available_solvers()][:4]
        ['independent', 'exhaustive', 'max_flow', 'branch_and_bound']
        >>> [info.name for info in available_solvers("labels")][:3]
        ['independent', 'exhaustive', 'elimination']
    """
    return registry_of(kind).available(load)
