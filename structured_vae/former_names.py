"""Names that `structured_vae` had at its top level, and the modules that define them.

They work for one release, with a DeprecationWarning that names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final
from warnings import warn

_NAMES_OF: Final[dict[str, tuple[str, ...]]] = {
    "structured_vae.data": (
        "ImageDataset",
        "dataset_of_images",
    ),
    "structured_vae.distributions": ("Distribution",),
    "structured_vae.distributions.argmax": ("argmax",),
    "structured_vae.distributions.kl": (
        "KL",
        "kl_ceiling",
        "kl_of_unary",
    ),
    "structured_vae.distributions.prior": ("PriorExcess",),
    "structured_vae.errors": (
        "DataError",
        "DivergedError",
        "EstimatorError",
        "RunError",
        "StalledWarning",
        "StructureError",
    ),
    "structured_vae.estimators": (
        "Adaptive",
        "Epsilon",
        "LocalDisARM",
        "PerturbedArgmax",
        "ReweightedWakeSleep",
        "Scheduled",
        "TableDirect",
        "WakeSleep",
        "WakeWake",
    ),
    "structured_vae.evaluation.bound": (
        "Bound",
        "evaluate_bound",
    ),
    "structured_vae.evaluation.gradients": (
        "GradientReport",
        "gradient_variance",
    ),
    "structured_vae.evaluation.quantities": (
        "Evaluation",
        "Quantity",
    ),
    "structured_vae.losses": ("StructuredLoss",),
    "structured_vae.noise": (
        "gumbel",
        "gumbel_differences",
    ),
    "structured_vae.objectives.costs": (
        "Cost",
        "CostOfCategories",
        "WithKL",
        "WithPrior",
    ),
    "structured_vae.objectives.recipes": (
        "Objective",
        "RECIPES",
        "paper_recipe",
    ),
    "structured_vae.runs": ("Run",),
    "structured_vae.schedules": (
        "CosineDecay",
        "Ramp",
        "Schedule",
    ),
    "structured_vae.spaces": (
        "Bits",
        "Categories",
        "ConstrainedBits",
        "PairwiseLabels",
        "StateSums",
        "Structure",
        "StructureGibbs",
        "TractableStructure",
    ),
    "structured_vae.spaces.of_potentials": (
        "Noise",
        "no_noise",
        "unary_noise",
    ),
}

MODULE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {name: module for module, names in _NAMES_OF.items() for name in names}
    | {"Posterior": "structured_vae.distributions"}
)
"""The module of each former name."""

RENAMED: Final[Mapping[str, str]] = MappingProxyType({"Posterior": "Distribution"})
"""The names that these have in their modules, where they changed."""


def former_name(name: str) -> Any:
    """Return the object that `structured_vae.NAME` used to be, with a DeprecationWarning.

    Raises:
        AttributeError: the package never had this name.
    """
    if name not in MODULE_OF:
        raise AttributeError(f"module 'structured_vae' has no attribute {name!r}")
    module = MODULE_OF[name]
    present = RENAMED.get(name, name)
    warn(
        f"structured_vae.{name} will be removed: use `from {module} import {present}`",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(module), present)
