"""The objectives of training: that of the code released with the paper, or the whole ELBO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, get_args

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from ..distributions.prior import PriorExcess, check_states, excess_of
from ..errors import EstimatorError, shortened
from .costs import Cost, Reconstruction, WithDensity, WithKL, WithPrior

KLTerm = Literal["density", "folded", "weighted", "none"]
"""The way in which a KL enters: from the density of q, in the cost, in importance weights, or not.

From the density it is exact where q has sums; else log q(z) of the samples is part of the cost."""

FORMER_TERM: Final = "exact"
"""The former name of the term "density"."""


class Objective:
    """The objective E_q[cost(z)] + kl, to be minimised.

    The KL is computed at its first use, from the potentials at that moment. After the estimate it
    can share the backward pass of the estimate through the states.

    Args:
        cost: the cost, whose gradient in the encoder is estimated.
        kl: `[batch]`, nats, with an exact gradient, or a function that computes it; 0 for none.
    """

    def __init__(self, cost: Cost, kl: torch.Tensor | float | Callable[[], torch.Tensor] = 0.0):
        self.cost = cost
        self._kl = kl

    @property
    def kl(self) -> torch.Tensor | float:
        """The KL `[batch]` in nats, with an exact gradient; 0 where there is none.

        Raises:
            solvers.UnsupportedProblemError: there are too many states, and the treewidth is too
                large.
        """
        if not callable(self._kl):
            return self._kl
        kl = self._kl()
        if torch.is_grad_enabled():  # training needs the gradient, so keep no KL without one
            self._kl = kl
        return kl


class Recipe(Protocol):
    """A function that makes the objective of a VAE on images, for one way of adding the KL."""

    def __call__(
        self,
        vae: DiscreteVAE,
        x: torch.Tensor,
        q: Distribution | AnyPotentials,
        kl_term: KLTerm,
        kl_weight: float = 1.0,
    ) -> Objective:
        """Return the objective of images `x [batch, pixels]`, with a weight of the KL."""


def paper_recipe(
    vae: DiscreteVAE,
    x: torch.Tensor,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
) -> Objective:
    """Return the objective of the code of Lorberbom et al. (2019), which trains no folded KL.

    Estimators that fold the KL into the cost, such as direct optimization, minimise the
    reconstruction alone; the KL is reported but not trained. All others (exact, Gumbel-softmax and
    more) minimise the KL too.
    """
    reconstruction = Reconstruction(vae.decoder, x)
    if kl_term == "folded":
        return Objective(reconstruction)
    return whole_bound(reconstruction, q, kl_term, kl_weight, _excess(vae, q))


def elbo_recipe(
    vae: DiscreteVAE,
    x: torch.Tensor,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
) -> Objective:
    """Return the whole bound of a batch as an objective: reconstruction cost and KL.

    For an autoregressive prior, E_q[-log p(z)] is part of the sampled cost, even if the entropy of
    q is exact.
    """
    return whole_bound(Reconstruction(vae.decoder, x), q, kl_term, kl_weight, _excess(vae, q))


def check_kl_term(kl_term: object) -> None:
    """Raise unless `kl_term` is a `KLTerm`.

    Raises:
        EstimatorError: it has another value.
    """
    if kl_term not in get_args(KLTerm):
        renamed = ""
        if kl_term == FORMER_TERM:
            renamed = ', which is now called "density"'
        raise EstimatorError(
            f"kl must be one of {', '.join(get_args(KLTerm))}; got {shortened(kl_term)}{renamed}"
        )


def whole_bound(
    cost: Cost,
    q: Distribution | AnyPotentials,
    kl_term: KLTerm,
    kl_weight: float = 1.0,
    prior: PriorExcess | None = None,
) -> Objective:
    """Return the objective of a cost and the KL of q to a uniform or learnt prior.

    Args:
        cost: the cost of states.
        q: the posterior; pass the one that the estimator draws from, so that both share its sums.
            For potentials the KL is that of their Gibbs distribution.
        kl_term: how the KL enters, `kl` of the estimator.
        kl_weight: weight of the KL.
        prior: a learnt prior; None for the uniform one.

    Raises:
        EstimatorError: `kl_term` is not a `KLTerm`.
    """
    check_kl_term(kl_term)
    if kl_term in ("weighted", "none"):  # the cost is -log p(x, z), with the whole prior
        return Objective(_with_prior(cost, prior))
    if kl_term == "density":
        posterior: Distribution
        if isinstance(q, AnyPotentials):
            posterior = Gibbs(q)
        else:
            posterior = q
        return _beside_kl(cost, posterior, kl_weight, prior)
    potentials = _potentials_of(q).detach()
    return Objective(WithKL(_with_prior(cost, prior, kl_weight), potentials, kl_weight))


def _potentials_of(q: Distribution | AnyPotentials) -> AnyPotentials:
    """Return the potentials of a posterior, which may be given by them alone."""
    if isinstance(q, AnyPotentials):
        return q
    return q.potentials


def _excess(vae: DiscreteVAE, q: Distribution | AnyPotentials) -> PriorExcess | None:
    """Return the excess of the model's prior over the states of q; None for the uniform prior.

    Raises:
        ConfigError: q and a learnt prior are over different states.
    """
    if vae.prior is not None:
        check_states(vae, _potentials_of(q))
    return excess_of(vae)


def _with_prior(cost: Cost, prior: PriorExcess | None, weight: float = 1.0) -> Cost:
    """Return a cost with the terms of a learnt prior added to it."""
    if prior is None:
        return cost
    return WithPrior(cost, prior, weight)


def _beside_kl(
    cost: Cost, posterior: Distribution, kl_weight: float, prior: PriorExcess | None
) -> Objective:
    """Return the objective of a cost and of a KL beside it, whose sums are taken where they exist.

    Terms of the KL without a closed form are sampled along with the cost.
    """
    if not posterior.tractable and posterior.has_density:
        sampled_kl = _with_prior(cost, prior, kl_weight)
        return Objective(WithDensity(sampled_kl, posterior, kl_weight))
    if prior is not None and not prior.has_sums:
        # The prior's part of the KL is sampled with the cost, and the entropy of q is exact.
        sampled = WithPrior(cost, prior, kl_weight)
        return Objective(sampled, lambda: kl_weight * posterior.kl().value)

    def kl() -> torch.Tensor:
        to_uniform = posterior.kl().value
        if prior is None:
            return kl_weight * to_uniform
        return kl_weight * (to_uniform + prior.expected(posterior))

    return Objective(cost, kl)


RECIPES: Final[dict[str, Recipe]] = {"paper": paper_recipe, "elbo": elbo_recipe}
"""The recipes by the name that a configuration gives them."""
