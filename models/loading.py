"""Load a model from a folder, whichever kind it is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .attributes import AttributeVAE
from .discrete import DiscreteVAE
from .errors import PretrainedError
from .gaussian_vae import GaussianVAE
from .mixture import MixtureVAE
from .pretrained import OWN, pretrained_config

VAES: Final = {
    model.__name__: model for model in (DiscreteVAE, MixtureVAE, AttributeVAE, GaussianVAE)
}
"""The models by the name that config.json gives them."""


def load_pretrained(
    folder: str | Path, model: DiscreteVAE | None = None
) -> DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE:
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
    if name not in VAES:
        raise PretrainedError(
            f"{folder} holds a {name}, which is unknown; there are: {', '.join(VAES)}"
        )
    return VAES[name].from_pretrained(folder)
