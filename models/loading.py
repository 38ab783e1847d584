"""Every model that can be loaded from a folder without knowing beforehand which it is."""

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
    """The model of a folder that `save_pretrained` wrote, whichever it is.

    Args:
        folder: holds model.safetensors and config.json.
        model: of a folder with networks of one's own these networks, whose weights are replaced.

    Raises:
        PretrainedError: a file is missing or damaged, does not fit, or names an unknown model; or
            networks of one's own are to be given, or must not be.
    """
    name = pretrained_config(folder).model
    if name == OWN or model is not None:
        return DiscreteVAE.from_pretrained(folder, model)
    if name not in VAES:
        raise PretrainedError(
            f"{folder} holds a {name}, which is unknown; there are: {', '.join(VAES)}"
        )
    return VAES[name].from_pretrained(folder)
