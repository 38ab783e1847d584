"""Former names at the top level of `solvers`, and the modules that define them.

They work for one release, with a DeprecationWarning that names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final
from warnings import warn

MODULE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Completions": "solvers.gibbs_distribution",
        "Gibbs": "solvers.gibbs_distribution",
        "GibbsAnswer": "solvers.summing.answer",
        "GibbsEstimate": "solvers.gibbs_distribution",
        "LabelProblem": "solvers.labels",
        "Prepared": "solvers.solving.prepared",
        "Selection": "solvers.solving.kinds",
        "SolverInfo": "solvers.registry",
        "naming_alternatives": "solvers.solving.selection",
        "resolve": "solvers.solving.selection",
    }
)
"""The module of each former name of `solvers`."""


def former_name(
    package: str,
    name: str,
    module_of: Mapping[str, str],
    renamed: Mapping[str, str],
    calls: Mapping[str, str],
) -> Any:
    """Return the object of the former name `package.name`, with a DeprecationWarning.

    Args:
        package: `solvers` or `solvers.labels`.
        name: the former name, a key of `module_of`.
        module_of: the module of each former name.
        renamed: the new name of each former name that was renamed.
        calls: the call to write in place of a former name, where it is of another package.
    """
    module = module_of[name]
    present = renamed.get(name, name)
    advice = calls.get(name, f"from {module} import {present}")
    warn(
        f"{package}.{name} will be removed: use `{advice}`",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(module), present)
