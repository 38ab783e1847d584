"""The bound of a Gaussian VAE, and its likelihood by importance weighting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import torch

from models.vaes import GaussianVAE

from ...evaluation.importance import (
    ImportanceBounds,
    draws_needed,
    importance_columns,
    importance_quantities,
)
from ...evaluation.quantities import Evaluation, Quantity, average

MEANINGS: Final = {
    "reconstruction": ("sampled", "over samples of the code"),
    "kl": ("exact", "KL(q(z | x) || standard normal)"),
    "bound": ("bound", "reconstruction + kl, on -log p(x)"),
    "minus_log_p": ("bound", "-log p(x), importance-weighted"),
}
"""The kind and meaning of every column, with a standard normal prior."""

LEARNT: Final = {
    "kl": ("sampled", "KL(q(z | x) || learnt prior): the entropy is exact, log p over samples"),
}
"""The kind and meaning of the columns that differ with a learnt prior."""

ACTIVE: Final = 0.01
"""A dimension is in use if its posterior mean varies more than this (Burda and others 2016).

The variance is taken over the images.
"""


@torch.no_grad()
def gaussian_columns(
    vae: GaussianVAE,
    x: torch.Tensor,
    generator: torch.Generator,
    samples: int = 1,
    importance: Sequence[int] = (),
) -> dict[str, torch.Tensor]:
    """Return the quantities of `MEANINGS`, `[batch]` each, and `means [batch, n]`.

    Args:
        vae: the model to evaluate.
        x: `[batch, pixels]`.
        generator: draws the codes.
        samples: number of samples of the code per image.
        importance: numbers of samples of importance-weighted bounds.

    References:
        Burda, Grosse, Salakhutdinov (2016), Importance weighted autoencoders.
    """
    q = vae.posterior(x)
    costs = torch.zeros_like(q.mean[:, 0])
    log_p = torch.zeros_like(costs)
    bounds = ImportanceBounds({samples, *importance})
    draws = draws_needed(samples, importance)
    for _ in range(draws):
        z = q.sample(generator)
        cost = vae.cost(x, z)
        log_ratio = vae.log_ratio(q, z)
        costs += cost
        log_p += log_ratio + q.log_prob(z)
        bounds.add((log_ratio - cost)[None])
    kl = q.kl()
    # A learnt prior has no KL in closed form: its part is averaged over the same samples.
    if vae.prior is not None:
        kl = -q.entropy() - log_p / draws
    columns = {
        "reconstruction": costs / draws,
        "kl": kl,
        "minus_log_p": bounds.values()[samples].to(costs),
        "means": q.mean,
    }
    columns |= importance_columns(bounds, importance)
    return columns | {"bound": columns["reconstruction"] + columns["kl"]}


def evaluate_gaussian(
    vae: GaussianVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    generator: torch.Generator,
    samples: int = 200,
    importance: Sequence[int] = (),
) -> Evaluation:
    """Return the bound with its parts, the likelihood, and the dimensions in use.

    Args:
        vae: the model to evaluate.
        image_batches: batches `(images [batch, pixels], ...)`.
        generator: draws the codes, on the device of the images.
        samples: number of samples of the code per image.
        importance: numbers K of samples; each gives an importance-weighted bound.
    """
    batches = [
        gaussian_columns(vae, batch[0], generator, samples, importance) for batch in image_batches
    ]
    columns = {name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]}
    used = int((columns["means"].var(dim=0, correction=0) > ACTIVE).sum())
    meanings = MEANINGS
    if vae.prior is not None:
        meanings = MEANINGS | LEARNT
    quantities = {name: average(columns[name], *meaning) for name, meaning in meanings.items()}
    quantities |= importance_quantities(columns, draws_needed(samples, importance), importance)
    quantities["active"] = Quantity(used, 0.0, "exact", f"dimensions in use, of {vae.n}")
    return Evaluation(quantities, len(columns["bound"]))
