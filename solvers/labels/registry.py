"""Look up label solvers by name.

Built-in solvers are imported on first use. Other packages can plug in theirs.
"""

from __future__ import annotations

from ..registry import Registry, SolverInfo
from .solver import LabelSolver

ENTRY_POINT_GROUP = "structured_vae.label_solvers"

BUILT_IN = {
    "independent": "solvers.labels.backends.independent:Independent",
    "exhaustive": "solvers.labels.backends.exhaustive:Exhaustive",
    "elimination": "solvers.labels.backends.elimination:Elimination",
    "dual_ascent": "solvers.labels.backends.dual_ascent:DualAscent",
    "expansion_moves": "solvers.labels.backends.expansion_moves:ExpansionMoves",
    "bits": "solvers.labels.backends.bits:Bits",
    "toulbar2": "solvers.labels.backends.toulbar2:Toulbar2",
}

LABELS: Registry[LabelSolver] = Registry(BUILT_IN, ENTRY_POINT_GROUP, "LabelSolver")


def solver_class(name: str) -> type[LabelSolver]:
    """The label solver class registered under `name`, imported now.

    Raises:
        UnknownSolverError: no label solver has that name; the message suggests near ones.
        SolverUnavailableError: a plug-in of that name cannot be imported.

    Example:
        >>> solver_class("elimination").capabilities.exact
        True
    """
    return LABELS.solver_class(name)


def available_solvers() -> tuple[SolverInfo, ...]:
    """List every label solver that has a name.

    `solve` also takes the binary solvers, which `solvers.available_solvers` lists.

    Example:
        >>> [info.name for info in available_solvers()][:3]
        ['independent', 'exhaustive', 'elimination']
    """
    return LABELS.available()
