"""The kinds by their names, each imported at its first use."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from models import AttributeVAE, DiscreteVAE, MixtureVAE, Pretrained, load_pretrained
from models.vaes import GaussianVAE, QuantisedVAE

from ..errors import RunError
from . import KINDS
from .config import TrainConfig
from .kind import Kind

AnyVAE: TypeAlias = DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE | QuantisedVAE
"""The network classes of the kinds that come with the library."""


def kind_of(config: TrainConfig) -> Kind[Any, Any]:
    """Return the kind of VAE that a configuration trains."""
    return kind_named(config.model)


def kind_of_networks(vae: Pretrained) -> Kind[Any, Any]:
    """Return the kind of these networks.

    Raises:
        RunError: the networks belong to no kind.
    """
    for kind in map(kind_named, KINDS):
        if type(vae) is kind.vae:
            return kind
    raise RunError(f"is a {type(vae).__name__}, which is not a model of this package")


def kind_named(name: str) -> Kind[Any, Any]:
    """Return the kind in the folder of this name."""
    kind: Kind[Any, Any] = import_module(f"{__package__}.{name}.kind").KIND
    return kind


def load_exported(folder: str | Path, model: DiscreteVAE | None = None) -> AnyVAE:
    """Return the model of an exported folder, of any kind.

    Args:
        folder: the folder.
        model: the custom networks whose weights the folder holds; None for other folders.

    Raises:
        models.errors.PretrainedError: a file is missing or damaged, or names an unknown model.
    """
    for name in KINDS:
        kind_named(name)  # imports its networks, which `load_pretrained` then knows by name
    return load_pretrained(folder, model)
