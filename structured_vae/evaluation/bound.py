"""The bound of a model after an epoch, with its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from ..distributions.kl import kl_of_unary
from ..distributions.prior import PriorExcess, excess_of


@dataclass(frozen=True)
class Bound:
    """The bound on -log p(x) and its parts, averaged over images, in nats; lower is better.

    Attributes:
        reconstruction: E_q[-log p(x | z)]: exact for one variable of categories, else by samples of
            z.
        kl: the tightest valid KL: exact for independent variables and Gibbs posteriors, else the
            logarithm of the number of states, which for bits is n log 2. For a learnt prior it
            also has the mean excess of the prior over the uniform one.
        kl_surrogate: the KL of the unary scores alone, as the paper reports it.
        bound: reconstruction + kl, in expectation an upper bound on -log p(x).
        bound_surrogate: reconstruction + kl_surrogate, the paper's number; a bound for independent
            encoders and categories only.
        standard_error: standard error of `bound` over the images.
        images: number of images.
        minus_log_p: -log p(x), exact, for one variable of categories, where it costs nothing; else
            None.
    """

    reconstruction: float
    kl: float
    kl_surrogate: float
    bound: float
    bound_surrogate: float
    standard_error: float
    images: int
    minus_log_p: float | None = None

    def to_dict(self) -> dict[str, float]:
        """Return the values that are not None, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@torch.no_grad()
def image_costs(
    vae: DiscreteVAE,
    x: torch.Tensor,
    posterior: Callable[[AnyPotentials], Distribution],
    generator: torch.Generator,
    samples: int = 1,
) -> dict[str, torch.Tensor]:
    """Return reconstruction, valid KL and surrogate KL of each image, `[batch]` each.

    For one variable of categories the expectation over q is exact, and -log p(x) is returned too.

    Args:
        vae: the model.
        x: `[batch, pixels]`.
        posterior: makes the distribution of potentials.
        generator: draws the samples, on the device of the images.
        samples: number of samples per image.
    """
    q = posterior(vae.encoder(x))
    potentials = q.potentials
    prior = excess_of(vae)
    costs = {"kl_surrogate": kl_of_unary(potentials).value}
    if q.space.one_variable:
        table = vae.decoder.table(x, potentials.states())
        probabilities, _ = q.marginals
        costs["kl"] = q.tightest_kl().value
        joint = table
        if prior is not None:
            excess = prior.table(potentials.states())
            joint = table + excess
            # The variable has no pairs, so both KLs are those of q.
            mean = (probabilities * excess).sum(dim=-1)
            costs["kl"] = costs["kl"] + mean
            costs["kl_surrogate"] = costs["kl_surrogate"] + mean
        costs["minus_log_p"] = math.log(vae.n) - (-joint).logsumexp(dim=-1)
        costs["reconstruction"] = (probabilities * table).sum(dim=-1)
        return costs
    z = torch.stack([q.sample(generator)[0] for _ in range(samples)])
    draws = [vae.decoder.cost(x, states) for states in z]
    costs["reconstruction"] = torch.stack(draws).mean(dim=0)
    costs["kl"] = q.tightest_kl(z).value
    if prior is None:
        return costs
    # Without sums, the mean over samples is still a bound in expectation.
    excess = prior.mean(q, z)
    return costs | {
        "kl": costs["kl"] + excess,
        "kl_surrogate": costs["kl_surrogate"] + excess_of_unary(prior, q, z, generator),
    }


def excess_of_unary(
    prior: PriorExcess, q: Distribution, z: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """Return the mean `[batch]` of a prior's excess under the unary scores of q alone.

    Args:
        prior: the excess.
        q: the posterior.
        z: `[samples, batch, n]`, its samples, which serve where q has no other scores.
        generator: draws as many others where they are needed.
    """
    factorised = Gibbs(q.potentials.unary_alone())
    if prior.has_sums:
        return prior.expected(factorised)
    if q.tractable and q.potentials.pairwise is None:
        return prior.mean(q, z)
    return prior.mean(factorised, factorised.sample(generator, len(z)))


def summarise(costs: Sequence[dict[str, torch.Tensor]]) -> Bound:
    """Return the bound from the `image_costs` of all batches."""
    columns = {name: torch.cat([batch[name] for batch in costs]).double() for name in costs[0]}
    means = {name: column.mean().item() for name, column in columns.items()}
    bounds = columns["reconstruction"] + columns["kl"]
    return Bound(
        **means,
        bound=means["reconstruction"] + means["kl"],
        bound_surrogate=means["reconstruction"] + means["kl_surrogate"],
        standard_error=bounds.std(correction=0).item() / len(bounds) ** 0.5,
        images=len(bounds),
    )


def evaluate_bound(
    vae: DiscreteVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    posterior: Callable[[AnyPotentials], Distribution],
    generator: torch.Generator,
    samples: int = 1,
) -> Bound:
    """Return the bound over batches of images.

    Args:
        vae: the model to evaluate.
        image_batches: batches `(images [batch, pixels], ...)`.
        posterior: makes the distribution of potentials: `Gibbs`, or `PerturbAndMAP` with a solver.
        generator: draws the posterior samples, on the device of the images.
        samples: number of posterior samples per image.
    """
    costs = [image_costs(vae, batch[0], posterior, generator, samples) for batch in image_batches]
    return summarise(costs)
