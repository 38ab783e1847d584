"""Several noise draws of one call: the scores of each draw, and the mean of the states."""

from __future__ import annotations

from dataclasses import replace

import torch

from models import Potentials


def repeated(potentials: Potentials, samples: int) -> Potentials:
    """Return the same scores for every draw, `[samples, ..., batch, n]`.

    The gradient of the scores is the mean of the gradients of the draws, where `expand` alone would
    have their sum.
    """

    def copies(values: torch.Tensor | None) -> torch.Tensor | None:
        if values is None:
            return None
        return values.expand(samples, *values.shape)

    def learning(values: torch.Tensor) -> torch.Tensor:
        share = (values - values.detach()) / samples  # 0, with the gradient of one draw
        return (values.detach() + share).expand(samples, *values.shape)

    pairwise = potentials.pairwise
    if pairwise is not None:
        pairwise = learning(pairwise)
    return replace(
        potentials,
        unary=learning(potentials.unary),
        pairwise=pairwise,
        forbidden=copies(potentials.forbidden),
        forbidden_pairs=copies(potentials.forbidden_pairs),
    )


def mean_of_draws(z: torch.Tensor) -> torch.Tensor:
    """Return the mean of states over the draws, the first dimension.

    Each draw gets the whole incoming gradient, so that a step of implicit MLE is as long as for one
    draw.
    """
    return z.detach().mean(dim=0) + (z - z.detach()).sum(dim=0)
