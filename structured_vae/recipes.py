"""What is trained: the paper's released objective, or the whole ELBO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import torch

from models import BinaryVAE, Potentials

from .costs import Cost, Reconstruction, WithKL

Recipe: TypeAlias = Callable[[BinaryVAE, torch.Tensor, Potentials], Cost]
"""(vae, images, potentials) -> the cost that the estimator minimises."""


def paper_recipe(vae: BinaryVAE, x: torch.Tensor, potentials: Potentials) -> Cost:
    """The reconstruction alone: the KL is reported but not trained, as in the paper's released code."""
    return Reconstruction(vae.decoder, x)


def elbo_recipe(vae: BinaryVAE, x: torch.Tensor, potentials: Potentials) -> Cost:
    """Reconstruction and KL, the latter folded into the cost (`WithKL`)."""
    return WithKL(Reconstruction(vae.decoder, x), potentials.detach())


RECIPES: Final[dict[str, Recipe]] = {"paper": paper_recipe, "elbo": elbo_recipe}
"""The recipes by the name that a configuration gives them."""
