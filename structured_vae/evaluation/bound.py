"""The bound of a model after an epoch, with its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import torch

from models import AnyPotentials, CategoricalPotentials, DiscreteVAE

from ..posteriors import Gibbs, PerturbAndMAP, Posterior
from ..posteriors.kl import KL, kl_of_unary


@dataclass(frozen=True)
class Bound:
    """Averages over images, in nats; lower is better.

    Attributes:
        reconstruction: E_q[-log p(x | z)]: exact for categories, else by samples of z.
        kl: the tightest KL known to be valid: exact for independent bits, categories and Gibbs posteriors,
            else n log 2.
        kl_surrogate: the KL of the unary scores alone, as the paper reports it.
        bound: reconstruction + kl, in expectation an upper bound on -log p(x).
        bound_surrogate: reconstruction + kl_surrogate, the paper's number; a bound for independent
            encoders and categories only.
        standard_error: of `bound`, over the images.
        images: how many.
        minus_log_p: -log p(x), exact; None but for categories, where it costs nothing.
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
        """The values that there are, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def valid_kl(posterior: Posterior) -> KL:
    """The tightest KL that is valid and costs no samples."""
    if isinstance(posterior, PerturbAndMAP):
        exact = posterior.kl("unary")
        return exact if exact.valid else posterior.kl("ceiling")
    return posterior.kl("exact")


@torch.no_grad()
def image_costs(
    vae: DiscreteVAE,
    x: torch.Tensor,
    posterior: Callable[[AnyPotentials], Posterior],
    generator: torch.Generator,
    samples: int = 1,
) -> dict[str, torch.Tensor]:
    """Reconstruction, valid KL and surrogate KL of each image; `[batch]` each.

    For categories the expectation over q is taken exactly, and -log p(x) comes with it.
    """
    potentials = vae.encoder(x)
    q = posterior(potentials)
    costs = {"kl": valid_kl(q).value, "kl_surrogate": kl_of_unary(potentials).value}
    if isinstance(potentials, CategoricalPotentials):
        table = vae.decoder.table(x, potentials.states())
        probabilities, _ = Gibbs(potentials).marginals
        minus_log_p = math.log(vae.n) - (-table).logsumexp(dim=-1)
        return {"reconstruction": (probabilities * table).sum(dim=-1), **costs, "minus_log_p": minus_log_p}
    draws = [vae.decoder.cost(x, q.sample(generator)[0]) for _ in range(samples)]
    return {"reconstruction": torch.stack(draws).mean(dim=0), **costs}


def summarise(costs: Sequence[dict[str, torch.Tensor]]) -> Bound:
    """The bound from the `image_costs` of all batches."""
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
    posterior: Callable[[AnyPotentials], Posterior],
    generator: torch.Generator,
    samples: int = 1,
) -> Bound:
    """The bound over batches of images.

    Args:
        vae: what is evaluated.
        image_batches: `(images [batch, pixels], ...)` each.
        posterior: `Gibbs`, or `PerturbAndMAP` with its solver, given potentials.
        generator: of the posterior samples, on the images' device.
        samples: posterior samples an image.
    """
    return summarise([image_costs(vae, batch[0], posterior, generator, samples) for batch in image_batches])
