"""What is trained: the paper's released objective, or the whole ELBO."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from models import AnyPotentials, DiscreteVAE

from .costs import Cost, Reconstruction, WithKL
from .estimators import KLTerm
from .posteriors import Gibbs


@dataclass(frozen=True, eq=False)
class Objective:
    """E_q[cost(z)] + kl, minimised.

    Attributes:
        cost: whose gradient in the encoder is estimated.
        kl: `[batch]`, nats, with an exact gradient; 0 where there is none.
    """

    cost: Cost
    kl: torch.Tensor | float = 0.0


Recipe: TypeAlias = Callable[[DiscreteVAE, torch.Tensor, AnyPotentials, KLTerm], Objective]
"""(vae, images, potentials, how a KL reaches the estimator) -> what is minimised."""


def paper_recipe(vae: DiscreteVAE, x: torch.Tensor, potentials: AnyPotentials, kl_term: KLTerm) -> Objective:
    """As in the code released with the paper.

    Direct optimization minimises the reconstruction alone; the KL is reported but not trained. Estimators
    that draw from the Gibbs distribution (exact, Gumbel-softmax and others) minimise its KL too.
    """
    reconstruction = Reconstruction(vae.decoder, x)
    return _with_exact_kl(reconstruction, potentials) if kl_term == "exact" else Objective(reconstruction)


def elbo_recipe(vae: DiscreteVAE, x: torch.Tensor, potentials: AnyPotentials, kl_term: KLTerm) -> Objective:
    """Reconstruction and KL: the latter exact where the posterior is Gibbs, else folded into the cost."""
    return whole_bound(Reconstruction(vae.decoder, x), potentials, kl_term)


def whole_bound(cost: Cost, potentials: AnyPotentials, kl_term: KLTerm) -> Objective:
    """A cost and the KL of the potentials, the latter as the estimator needs it."""
    if kl_term == "folded":
        return Objective(WithKL(cost, potentials.detach()))
    return _with_exact_kl(cost, potentials) if kl_term == "exact" else Objective(cost)


def _with_exact_kl(cost: Cost, potentials: AnyPotentials) -> Objective:
    return Objective(cost, Gibbs(potentials).kl().value)


RECIPES: Final[dict[str, Recipe]] = {"paper": paper_recipe, "elbo": elbo_recipe}
"""The recipes by the name that a configuration gives them."""
