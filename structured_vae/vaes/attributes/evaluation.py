"""The bound of an attribute VAE, and its accuracy on each attribute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import torch

from models import AttributeVAE
from models.gaussian import Gaussian

from ...distributions import Gibbs
from ...distributions.argmax import AnySolver, argmax
from ...evaluation.importance import (
    ImportanceBounds,
    draws_needed,
    importance_columns,
    importance_quantities,
)
from ...evaluation.quantities import Evaluation, Quantity, average

MEANINGS: Final = {
    "reconstruction": ("sampled", "of attributes and code"),
    "kl_discrete": ("exact", "KL(q(attributes) || uniform), q the Gibbs distribution"),
    "kl_continuous": (
        "exact",
        "KL(q(code) || p(code | attributes)) in expectation over q(attributes)",
    ),
    "kl": ("exact", "the sum of both"),
    "bound": ("bound", "reconstruction + kl, on -log p(x)"),
    "minus_log_p": ("bound", "-log p(x), importance-weighted"),
    "accuracy": ("exact", "share of attributes that the most probable state has right"),
}
"""The kind and meaning of every column except those of single attributes."""


def attribute_columns(
    vae: AttributeVAE,
    x: torch.Tensor,
    labels: torch.Tensor,
    names: Sequence[str],
    generator: torch.Generator,
    solver: AnySolver = "auto",
    samples: int = 1,
    importance: Sequence[int] = (),
) -> dict[str, torch.Tensor]:
    """Return the quantities of `MEANINGS` and `accuracy_NAME` of every attribute, `[batch]` each.

    The posterior is the Gibbs distribution of the scores. Its KL is exact, and the bound is valid
    whichever estimator trained the model.

    Args:
        vae: the model to evaluate.
        x: `[batch, pixels]`.
        labels: `[batch, n]`, the true attributes.
        names: the names of the n attributes.
        generator: draws codes and attributes.
        solver: computes the most probable state.
        samples: number of samples of codes and attributes per image.
        importance: numbers of samples of importance-weighted bounds.
    """
    with torch.no_grad():
        potentials, code = vae.encoder(x)
        q = Gibbs(potentials)
        totals = torch.zeros_like(x[:, 0])
        bounds = ImportanceBounds({samples, *importance})
        draws = draws_needed(samples, importance)
        for _ in range(draws):
            drawn = code.sample(generator)
            z = q.sample(generator)[0]
            reconstruction = vae.decoder.reconstruction(x, z, drawn)
            totals += reconstruction
            cost = reconstruction + vae.decoder.prior_cost(z, drawn)
            # log p(z) - log q(z), where each of the 2^n states has the same prior probability.
            to_prior = code.log_ratio(drawn) - q.log_prob(z) - vae.n * math.log(2)
            bounds.add((to_prior - cost)[None])
        right = (argmax(potentials, solver) == labels).to(x.dtype)
        columns = {
            "reconstruction": totals / draws,
            "kl_discrete": q.kl().value,
            "kl_continuous": kl_of_code(vae, q, code),
            "minus_log_p": bounds.values()[samples].to(totals),
            **importance_columns(bounds, importance),
            "accuracy": right.mean(dim=-1),
            **{f"accuracy_{name}": column for name, column in zip(names, right.T, strict=True)},
        }
    columns["kl"] = columns["kl_discrete"] + columns["kl_continuous"]
    columns["bound"] = columns["reconstruction"] + columns["kl"]
    return columns


def kl_of_code(vae: AttributeVAE, q: Gibbs, code: Gaussian) -> torch.Tensor:
    """Return the exact expectation over q(z) of KL(q(code) || p(code | z)) in nats, `[batch]`.

    A quadratic function has the mean E f(z) = f(E z) + tr(f'' Cov z) / 2.

    Args:
        vae: the model, which has the prior of codes given z.
        q: the posterior of the attributes, with scores of all pairs or of none.
        code: the other factor of the posterior.
    """
    ones, pairs = q.marginals
    weight = vae.decoder.prior.weight
    curvature = weight.T @ weight
    spread = (ones * (1 - ones)) @ curvature.diagonal() / 2
    edges = q.potentials.edges
    if pairs is not None and edges is not None:
        i, j = edges.T
        spread = spread + (pairs - ones[:, i] * ones[:, j]) @ curvature[i, j]
    return code.kl() + vae.decoder.prior_cost(ones, code.mean) + spread


def evaluate_attributes(
    vae: AttributeVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    names: Sequence[str],
    generator: torch.Generator,
    solver: AnySolver = "auto",
    samples: int = 10,
    supervised: bool = True,
    importance: Sequence[int] = (),
) -> Evaluation:
    """Return the bound with its parts, the likelihood, and the accuracies beside the majority's.

    `majority_NAME` is the accuracy of always predicting the value that is more frequent among these
    images.

    Args:
        vae: the model to evaluate.
        image_batches: batches `(images [batch, pixels], attributes [batch, n])`.
        names: the names of the attributes.
        generator: draws codes and attributes, on the device of the images.
        solver: computes the most probable state.
        samples: number of samples of codes and attributes per image.
        supervised: whether labels tied each bit to an attribute in training; if not, no accuracy
            is computed.
        importance: numbers K of samples; each gives an importance-weighted bound.
    """
    batches = []
    labels = []
    for x, true in image_batches:
        batches.append(
            attribute_columns(vae, x, true, names, generator, solver, samples, importance)
        )
        labels.append(true)
    columns = {name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]}
    bound = [name for name in MEANINGS if supervised or name != "accuracy"]
    quantities = {name: average(columns[name], *MEANINGS[name]) for name in bound}
    quantities |= importance_quantities(columns, draws_needed(samples, importance), importance)
    if supervised:
        quantities |= _beside_majority(columns, torch.cat(labels).double(), names)
    return Evaluation(quantities, len(columns["bound"]))


def _beside_majority(
    columns: dict[str, torch.Tensor], labels: torch.Tensor, names: Sequence[str]
) -> dict[str, Quantity]:
    """Return two quantities per attribute, and the average accuracy of the majority."""
    frequent = (labels == (labels.mean(dim=0) > 0.5)).double()
    always = "share of images with the more frequent value"
    quantities = {
        "majority": average(frequent.mean(dim=1), "exact", f"{always}, of all attributes")
    }
    for name, majority in zip(names, frequent.T, strict=True):
        quantities[f"accuracy_{name}"] = average(
            columns[f"accuracy_{name}"], "exact", "most probable state"
        )
        quantities[f"majority_{name}"] = average(majority, "exact", always)
    return quantities
