"""What is trained: the paper's released objective, or the whole ELBO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, get_args

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from ..distributions.prior import PriorExcess, excess_of
from ..errors import EstimatorError, shortened
from .costs import Cost, Reconstruction, WithKL, WithPrior

KLTerm = Literal["exact", "folded", "none"]
"""An objective's KL reaches the estimator as a term of its own, inside the cost, or not at all."""


class Objective:
    """E_q[cost(z)] + kl, minimised.

    The KL is found when it is first asked for, of the potentials as they are then: after the
    estimate it can share the estimate's way back through the states.

    Args:
        cost: whose gradient in the encoder is estimated.
        kl: `[batch]`, nats, with an exact gradient, or what finds it; 0 where there is none.
    """

    def __init__(self, cost: Cost, kl: torch.Tensor | float | Callable[[], torch.Tensor] = 0.0):
        self.cost = cost
        self._kl = kl

    @property
    def kl(self) -> torch.Tensor | float:
        """`[batch]`, nats, with an exact gradient; 0 where there is none.

        Raises:
            solvers.UnsupportedProblemError: it is of too many states, and too large a treewidth.
        """
        if not callable(self._kl):
            return self._kl
        found = self._kl()
        if torch.is_grad_enabled():  # one without a gradient is not what is trained
            self._kl = found
        return found


class Recipe(Protocol):
    """Makes what is minimised of a VAE, images, and how a KL reaches the estimator."""

    def __call__(
        self,
        vae: DiscreteVAE,
        x: torch.Tensor,
        q: Distribution | AnyPotentials,
        kl_term: KLTerm,
        kl_weight: float = 1.0,
    ) -> Objective:
        """The objective of images `x [batch, pixels]`, with a weight for the KL while it warms up."""


def paper_recipe(
    vae: DiscreteVAE,
    x: torch.Tensor,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
) -> Objective:
    """As in the code released with the paper.

    Direct optimization minimises the reconstruction alone; the KL is reported but not trained.
    Estimators that draw from the Gibbs distribution (exact, Gumbel-softmax and others) minimise its
    KL too.
    """
    reconstruction = Reconstruction(vae.decoder, x)
    if kl_term == "folded":
        return Objective(reconstruction)
    return whole_bound(reconstruction, q, kl_term, kl_weight, excess_of(vae))


def elbo_recipe(
    vae: DiscreteVAE,
    x: torch.Tensor,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
) -> Objective:
    """Return reconstruction and KL: exact where the posterior is Gibbs, else folded into the cost."""
    return whole_bound(Reconstruction(vae.decoder, x), q, kl_term, kl_weight, excess_of(vae))


def check_kl_term(kl_term: object) -> None:
    """Refuses what is no `KLTerm`.

    Raises:
        EstimatorError: it is none.
    """
    if kl_term not in get_args(KLTerm):
        raise EstimatorError(
            f"kl must be one of {', '.join(get_args(KLTerm))}; got {shortened(kl_term)}"
        )


def whole_bound(
    cost: Cost,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
    prior: PriorExcess | None = None,
) -> Objective:
    """Return a cost and the KL of q to the prior, uniform or learnt, as the estimator needs it.

    Args:
        cost: of states.
        q: the posterior; pass the one that the estimator draws from, so that both share its sums.
            Of potentials the KL is that of their Gibbs distribution.
        kl_term: how the KL joins.
        kl_weight: of the KL.
        prior: learnt; None for the uniform one.

    Raises:
        EstimatorError: the estimator's `kl` is none of exact, folded and none.
    """
    check_kl_term(kl_term)
    if kl_term == "none":  # log p(x, z) has the prior whole
        return Objective(cost if prior is None else WithPrior(cost, prior))
    if kl_term == "exact":
        posterior = Gibbs(q) if isinstance(q, AnyPotentials) else q

        def kl() -> torch.Tensor:
            to_uniform = posterior.kl().value
            if prior is None:
                return kl_weight * to_uniform
            return kl_weight * (to_uniform + prior.expected(posterior))

        return Objective(cost, kl)
    potentials = q if isinstance(q, AnyPotentials) else q.potentials
    beside = cost if prior is None else WithPrior(cost, prior, kl_weight)
    return Objective(WithKL(beside, potentials.detach(), kl_weight))


RECIPES: Final[dict[str, Recipe]] = {"paper": paper_recipe, "elbo": elbo_recipe}
"""The recipes by the name that a configuration gives them."""
