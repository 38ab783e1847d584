"""Train the parameters of an estimator to make its gradient small."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from models.potentials import AnyPotentials


def squared_gradient_loss(
    parameters: Sequence[nn.Parameter], gradients: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Return a loss whose gradient in the parameters is that of the mean squared gradient.

    The mean of an unbiased gradient does not depend on the parameters of its control variate. So
    the mean squared gradient falls as the variance does, and one draw gives an unbiased gradient of
    it. The loss has no gradient in other parameters.

    Args:
        parameters: of the control variate.
        gradients: `[batch, ...]`, of each kind of scores, differentiable in the parameters.
    """
    squares = [gradient.square().flatten(1).sum(dim=-1).mean() for gradient in gradients]
    slopes = torch.autograd.grad(torch.stack(squares).sum(), parameters)
    products = [
        (parameter * slope).sum() for parameter, slope in zip(parameters, slopes, strict=True)
    ]
    return torch.stack(products).sum()


def tracked_scores(potentials: AnyPotentials) -> list[torch.Tensor]:
    """Return the unary and pairwise scores, without those that need no gradient."""
    tracked = []
    if potentials.unary.requires_grad:
        tracked.append(potentials.unary)
    if potentials.pairwise is not None and potentials.pairwise.requires_grad:
        tracked.append(potentials.pairwise)
    return tracked
