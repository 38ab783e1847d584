"""Former names at the top level of `solvers.labels`, and the modules that have them now.

They work for one release, with a DeprecationWarning that names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MODULE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Bits": "solvers.labels.backends.bits",
        "LabelCompletions": "solvers.labels.completions",
        "LabelConversion": "solvers.labels.conversions",
        "LabelGibbs": "solvers.labels.gibbs_distribution",
        "LabelGibbsEstimate": "solvers.gibbs_distribution.estimate",
        "PreparedLabels": "solvers.labels.prepared",
        "Selection": "solvers.solving.kinds",
        "available_solvers": "solvers.labels.call",
        "select_solver": "solvers",
        "solve_many": "solvers",
        "solver_class": "solvers.labels.call",
    }
)
"""The module of each former name."""

RENAMED: Final[Mapping[str, str]] = MappingProxyType({"LabelGibbsEstimate": "GibbsEstimate"})
"""The new name of each former name that was renamed."""

CALLS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "available_solvers": 'solvers.available_solvers("labels")',
        "solver_class": 'solvers.solver_class(name, "labels")',
    }
)
"""The call to write in place of a former name that is one of `solvers` now."""
