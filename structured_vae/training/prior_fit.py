"""Fit a prior to the codes of trained networks, which do not change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from models.priors import LearntPrior

from ..distributions import Gibbs
from ..errors import DivergedError
from ..seeds import Stream, generator

Codes = Callable[[torch.Tensor, torch.Generator], torch.Tensor]
"""(images `[batch, pixels]`, generator) -> a state `[batch, n]` of each."""

Batches = Iterable[tuple[torch.Tensor, ...]]
"""Batches whose first entry is the images; iterated once per epoch."""


def prior_log_prob(prior: LearntPrior, z: torch.Tensor) -> torch.Tensor:
    """Return log p(z) `[...]` of codes `z [..., n]` under any learnt prior, differentiable."""
    return prior.described(
        of_potentials=lambda scores: Gibbs(scores).log_prob(z),
        of_density=lambda density: density.log_prob(z),
    )


def fit_to_codes(
    prior: LearntPrior,
    codes: Codes,
    images: Batches,
    validation: Batches,
    *,
    epochs: int,
    learning_rate: float,
    seed: int = 0,
) -> list[float]:
    """Maximise E[log p(z)] over codes of images: the second stage of a training in two stages.

    The codes are drawn anew in every epoch. Adam's learning rate falls to zero by a cosine. The
    prior gets the weights of the epoch with the lowest cost on the validation images.

    Args:
        prior: the prior to fit, in place.
        codes: draws the codes of images.
        images: batches of the training images.
        validation: batches of other images, by which the best epoch is chosen.
        epochs: passes over the images.
        learning_rate: initial learning rate of Adam.
        seed: seed of the draws of codes.

    Returns:
        The mean of -log p(z) over the validation images after each epoch, in nats.

    Raises:
        DivergedError: the cost of the first epoch is not finite.
    """
    optimiser = torch.optim.Adam(prior.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    costs: list[float] = []
    best: dict[str, torch.Tensor] = {}
    for epoch in range(epochs):
        # The noise depends on seed and epoch alone, so that a second fit gives the same prior.
        noise = generator(seed, Stream.NOISE, epoch)
        for batch in images:
            with torch.no_grad():
                z = codes(batch[0], noise)
            optimiser.zero_grad()
            loss = -prior_log_prob(prior, z).mean()
            loss.backward()  # type: ignore[no-untyped-call]  # torch's
            optimiser.step()
        schedule.step()
        costs.append(_mean_cost(prior, codes, validation, seed))
        # A cost that is not finite does not recover; the best epoch so far is kept.
        if not math.isfinite(costs[-1]):
            break
        if costs[-1] == min(costs):
            best = {name: weight.clone() for name, weight in prior.state_dict().items()}
    if not best:
        raise DivergedError(
            f"-log p(z) of the codes is {costs[-1]} after the first epoch; fit with a smaller "
            f"learning_rate than {learning_rate:g}"
        )
    prior.load_state_dict(best)
    return costs


@torch.no_grad()
def _mean_cost(prior: LearntPrior, codes: Codes, images: Batches, seed: int) -> float:
    """Return the mean of -log p(z) over codes of images, with the same noise for every epoch."""
    # The same noise for every epoch, so that costs differ by the prior alone.
    noise = generator(seed, Stream.EVALUATION)
    total = 0.0
    count = 0
    for batch in images:
        z = codes(batch[0], noise)
        total -= prior_log_prob(prior, z).double().sum().item()
        count += len(z)
    return total / count
