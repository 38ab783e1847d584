"""Load a model from a folder, whichever kind it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from .errors import PretrainedError
from .pretrained import OWN, Pretrained, pretrained_config
from .vaes.attributes import AttributeVAE
from .vaes.discrete import DiscreteVAE
from .vaes.gaussian_vae import GaussianVAE
from .vaes.mixture import MixtureVAE
from .vaes.quantised import QuantisedVAE

VAES: Final = {
    model.__name__: model
    for model in (DiscreteVAE, MixtureVAE, AttributeVAE, GaussianVAE, QuantisedVAE)
}
"""The models of this package by the name that config.json gives them."""


def load_pretrained(
    folder: str | Path, model: DiscreteVAE | None = None
) -> DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE | QuantisedVAE:
    """Return the model of a folder that `save_pretrained` wrote, whichever kind it is.

    Args:
        folder: the folder with model.safetensors and config.json.
        model: for a folder with weights of custom networks, these networks; their weights are
            replaced.

    Raises:
        PretrainedError: a file is missing or damaged, does not fit, or names an unknown model; or
            `model` is missing for custom networks, or is passed for others.
    """
    name = pretrained_config(folder).model
    if name == OWN or model is not None:
        return DiscreteVAE.from_pretrained(folder, model)
    classes = model_classes()
    if name not in classes:
        raise PretrainedError(
            f"{folder} holds a {name}, which is unknown; there are: {', '.join(classes)}. If "
            "another module defines it, import that module first"
        )
    # Callers know the class of a folder of their own; those of this package are typed.
    vae: DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE | QuantisedVAE
    vae = classes[name].from_pretrained(folder)
    return vae


def model_classes() -> dict[str, type[Any]]:
    """Return the models by the name that config.json gives them.

    They are those of this package, and every class that derives from `Pretrained` in a module that
    has been imported. A file never makes Python import one.

    Example:
        >>> list(model_classes())[:2]
        ['DiscreteVAE', 'MixtureVAE']
    """
    classes: dict[str, type[Any]] = dict(VAES)
    waiting = list(Pretrained.__subclasses__())
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        classes.setdefault(model.__name__, model)
    return classes
