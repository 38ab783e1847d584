"""The bound and the accuracy of a mixture VAE."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import torch

from models import MixtureVAE

from ...evaluation.importance import (
    ImportanceBounds,
    draws_needed,
    importance_columns,
    importance_quantities,
)
from ...evaluation.quantities import ACTIVE_SHARE, Evaluation, Quantity, average

MEANINGS: Final = {
    "reconstruction": ("sampled", "over all classes and samples of the style"),
    "kl_discrete": ("exact", "KL(q(class) || uniform)"),
    "kl_continuous": (
        "exact",
        "KL(q(style) || standard normal), of a style a class in expectation over classes",
    ),
    "kl": ("exact", "the sum of both"),
    "bound": ("bound", "reconstruction + kl, on -log p(x)"),
    "minus_log_p": ("bound", "-log p(x), importance-weighted"),
    "accuracy": ("exact", "share of images whose most probable class is theirs"),
    "accuracy_sampled": ("exact", "the same of a class drawn from q, in expectation"),
}
"""The kind and meaning of every column."""


@torch.no_grad()
def mixture_columns(
    vae: MixtureVAE,
    x: torch.Tensor,
    classes: torch.Tensor | None,
    generator: torch.Generator,
    samples: int = 1,
    importance: Sequence[int] = (),
) -> dict[str, torch.Tensor]:
    """Return the quantities of `MEANINGS`, `[batch]` each, and `probabilities [batch, k]`.

    Args:
        vae: the model to evaluate.
        x: `[batch, pixels]`.
        classes: `[batch]`, the true classes; None for no accuracy.
        generator: draws the styles.
        samples: number of samples of the style per image; the sum over classes is exact.
        importance: numbers of samples of importance-weighted bounds.
    """
    potentials, style = vae.encoder(x)
    q = potentials.unary.softmax(dim=-1)
    log_q = potentials.unary.log_softmax(dim=-1)
    totals = torch.zeros_like(q[:, 0])
    bounds = ImportanceBounds({samples, *importance})
    draws = draws_needed(samples, importance)
    for _ in range(draws):
        drawn = style.sample(generator)
        table = vae.decoder.given(drawn).table(x, potentials.states())
        totals += (q * table).sum(dim=-1)
        # of one style, or of that of every class
        ratio = style.log_ratio(drawn).reshape(len(x), -1)
        bounds.add(((ratio - table).logsumexp(dim=-1) - math.log(vae.n))[None])
    kl_of_style = style.kl()
    if style.mean.ndim > 2:  # a style of each class
        kl_of_style = (q * kl_of_style).sum(dim=-1)
    columns = {
        "reconstruction": totals / draws,
        "kl_discrete": (q * log_q).sum(dim=-1) + math.log(vae.n),
        "kl_continuous": kl_of_style,
        "minus_log_p": bounds.values()[samples].to(totals),
        "probabilities": q,
        **importance_columns(bounds, importance),
    }
    if classes is not None:
        columns["accuracy"] = (q.argmax(dim=-1) == classes).to(q.dtype)
        columns["accuracy_sampled"] = q.gather(1, classes[:, None])[:, 0]
    columns["kl"] = columns["kl_discrete"] + columns["kl_continuous"]
    columns["bound"] = columns["reconstruction"] + columns["kl"]
    return columns


def evaluate_mixture(
    vae: MixtureVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    generator: torch.Generator,
    samples: int = 10,
    supervised: bool = True,
    importance: Sequence[int] = (),
) -> Evaluation:
    """Return the bound with its parts, the likelihood, classes in use, and the accuracies.

    Args:
        vae: the model to evaluate.
        image_batches: batches `(images [batch, pixels], classes [batch])`.
        generator: draws the styles, on the device of the images.
        samples: number of samples of the style per image.
        supervised: whether labels fixed the meaning of the classes; if not, there is no accuracy.
        importance: numbers K of samples; each gives an importance-weighted bound. The sum over
            classes is exact in each.
    """
    batches = []
    for x, classes in image_batches:
        supervision = None
        if supervised:
            supervision = classes
        batches.append(mixture_columns(vae, x, supervision, generator, samples, importance))
    columns = {name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]}
    used = int((columns["probabilities"].mean(dim=0) >= ACTIVE_SHARE / vae.n).sum())
    names = [name for name in MEANINGS if name in columns]
    quantities = {name: average(columns[name], *MEANINGS[name]) for name in names}
    quantities |= importance_quantities(columns, draws_needed(samples, importance), importance)
    quantities["active"] = Quantity(used, 0.0, "exact", f"classes in use, of {vae.n}")
    return Evaluation(quantities, len(columns["bound"]))
