"""The bound of a quantised VAE, and how much of its codebooks it uses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import torch

from models.quantisers import codebook_use
from models.states import all_labels, all_states
from models.vaes import QuantisedVAE

from ...evaluation.quantities import Evaluation, Quantity, average

MEANINGS: Final = {
    "reconstruction": ("exact", "-log p(x | z) of the image's code"),
    "kl": ("exact", "-log p(z) of the code"),
    "bound": ("bound", "reconstruction + kl, on -log p(x)"),
    "bound_factorised": ("bound", "the same with a factorised prior of codes"),
    "bound_uniform": ("bound", "the same with a uniform prior of codes"),
    "minus_log_p": ("exact", "-log p(x), over all codes"),
    "gap": ("exact", "bound less minus_log_p"),
}
"""The kind and meaning of every column."""

ENUMERATED: Final = 2**12
"""The maximum number of codes that are enumerated for every image."""


@torch.no_grad()
def quantised_columns(vae: QuantisedVAE, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the bound and its parts, `[batch]` each, and `values [variables, k]`.

    The values are how many images of the batch have each value of each variable.

    The posterior is one code z(x), so the KL to the prior is -log p(z(x)), and
    -log p(x) <= -log p(x | z(x)) - log p(z(x)) without any sampling.

    Args:
        vae: the model.
        x: `[batch, pixels]`.
    """
    z = vae.code(x)
    reconstruction = vae.cost(x, z)
    kl = -vae.log_prior(z)
    return {
        "reconstruction": reconstruction,
        "kl": kl,
        "bound": reconstruction + kl,
        "bound_factorised": reconstruction - vae.log_factorised(z),
        "bound_uniform": reconstruction + vae.quantiser.log_count,
        "values": len(x) * vae.quantiser.frequencies(z).double(),
    }


def use_of_values(vae: QuantisedVAE, batches: Sequence[torch.Tensor]) -> tuple[float, float]:
    """Return use and perplexity, see `codebook_use`, of the counts of values of several batches."""
    counts = torch.stack(list(batches)).sum(dim=0)
    return codebook_use(counts / counts.sum(dim=-1, keepdim=True), vae.quantiser.shared)


def evaluate_quantised(
    vae: QuantisedVAE, image_batches: Iterable[tuple[torch.Tensor, ...]]
) -> Evaluation:
    """Return the bound with its parts, codebook use and perplexity, and -log p(x) of few codes.

    Args:
        vae: the model.
        image_batches: batches `(images [batch, pixels], ...)`.
    """
    states = _all_codes(vae)
    batches = []
    for x, *_ in image_batches:
        columns = quantised_columns(vae, x)
        if states is not None:
            columns["minus_log_p"] = _minus_log_p(vae, x, states)
            columns["gap"] = columns["bound"] - columns["minus_log_p"]
        batches.append(columns)
    used, perplexity = use_of_values(vae, [batch.pop("values") for batch in batches])
    quantities = {
        name: average(torch.cat([batch[name] for batch in batches]).double(), *meaning)
        for name, meaning in MEANINGS.items()
        if name in batches[0]
    }
    k = vae.quantiser.k
    quantities["usage"] = Quantity(used, 0.0, "exact", "share of the codebook's values in use")
    quantities["perplexity"] = Quantity(
        perplexity, 0.0, "exact", f"effective values of a variable, of {k}"
    )
    return Evaluation(quantities, sum(len(batch["bound"]) for batch in batches))


def _all_codes(vae: QuantisedVAE) -> torch.Tensor | None:
    """Return all codes `[states, n]`; None if there are too many."""
    quantiser = vae.quantiser
    if quantiser.log_count > math.log(ENUMERATED) + 1e-9:
        return None
    if quantiser.binary:
        return all_states(quantiser.n, vae.frequencies)
    return all_labels(quantiser.variables, quantiser.k, vae.frequencies)


@torch.no_grad()
def _minus_log_p(vae: QuantisedVAE, x: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Return -log p(x) `[batch]`, summed over all codes."""
    outputs = vae.outputs(vae.quantiser.embed(states))
    log_joint = vae.log_prior(states) - vae.likelihood.table(outputs, x)
    return -log_joint.logsumexp(dim=-1)
