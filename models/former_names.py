"""Names that `models` had at its top level, and the modules that define them.

They work for one release, with a DeprecationWarning that names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final
from warnings import warn

_NAMES_OF: Final[dict[str, tuple[str, ...]]] = {
    "models.vaes.attributes": (
        "AttributeDecoder",
        "AttributeEncoder",
        "GivenCode",
    ),
    "models.networks.convolutional": (
        "ConvolutionalDecoder",
        "ConvolutionalEncoder",
    ),
    "models.networks.decoder": (
        "BinaryDecoder",
        "CategoricalDecoder",
        "DecodedStates",
        "Decoder",
        "Flips",
        "Neighbourhood",
    ),
    "models.networks.encoders.categorical": ("CategoricalEncoder",),
    "models.networks.encoders.encoder": ("Encoder",),
    "models.networks.encoders.general": ("general_encoder",),
    "models.networks.encoders.independent": ("independent_encoder",),
    "models.networks.encoders.registry": ("ENCODERS",),
    "models.networks.encoders.supermodular": ("supermodular_encoder",),
    "models.errors": (
        "NetworkError",
        "PretrainedError",
        "SettingError",
    ),
    "models.gaussian": ("Gaussian",),
    "models.likelihoods": (
        "BernoulliLikelihood",
        "GaussianLikelihood",
        "LIKELIHOODS",
        "Likelihood",
    ),
    "models.loading": ("VAES",),
    "models.vaes.mixture": (
        "GivenStyle",
        "MixtureDecoder",
        "MixtureEncoder",
    ),
    "models.networks": ("train_mixed",),
    "models.networks.own_networks": (
        "FastPaths",
        "NetworkDecoder",
        "NetworkEncoder",
        "StatesOfNetwork",
    ),
    "models.potentials": (
        "AnyPotentials",
        "LatentSpace",
    ),
    "models.pretrained": ("Figure",),
    "models.priors": (
        "AutoregressivePrior",
        "BitsPrior",
        "CategoriesPrior",
        "PRIORS",
        "Prior",
        "factorised_prior",
    ),
    "models.states": (
        "MOST_BITS",
        "all_labels",
        "all_states",
        "codes_of",
        "drawn_places",
        "label_index",
        "of_variables",
        "single_changes",
        "single_flips",
        "state_index",
    ),
    "models.vaes": ("GaussianVAE", "QuantisedVAE"),
}

MODULE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {name: module for module, names in _NAMES_OF.items() for name in names}
)
"""The module of each former name."""

RENAMED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "general_encoder": "GeneralEncoder",
        "independent_encoder": "IndependentEncoder",
        "supermodular_encoder": "SupermodularEncoder",
    }
)
"""The names of today, of those that changed."""


def former_name(name: str) -> Any:
    """Return the object that `models.NAME` used to be, with a DeprecationWarning.

    Raises:
        AttributeError: the package never had this name.
    """
    if name not in MODULE_OF:
        raise AttributeError(f"module 'models' has no attribute {name!r}")
    module = MODULE_OF[name]
    present = RENAMED.get(name, name)
    warn(
        f"models.{name} will be removed: use `from {module} import {present}`",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(module), present)
