"""The gradients of log Z and of marginals that an operator of torch returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .second_derivatives import without_derivative


def keep_marginals(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    """Save the inputs of an operator, and the marginals of its output, for the backward pass."""
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, *output[1:])


def gradients_of_sums(
    ctx: Any,
    gradients: tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None],
    covariance: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    of: str,
) -> tuple[torch.Tensor | None, ...]:
    """Return the gradients in the inputs of an operator: two arrays of scores, and constants.

    They are the marginals times the gradient of log Z, and the covariance times that of the
    marginals.

    Args:
        ctx: has what `keep_marginals` saved.
        gradients: those of log Z and of the marginals of variables and pairs; None for zeros.
        covariance: takes the inputs and a direction of both marginals; returns the derivative of
            the marginals.
        of: names the marginals, whose second derivative raises an error.
    """
    log_z, ones, pairs = gradients
    unary, pairwise, *constants, p_ones, p_pairs = ctx.saved_tensors
    of_unary = torch.zeros_like(unary)
    of_pairwise = torch.zeros_like(pairwise)
    if log_z is not None:
        of_unary = _times(log_z, p_ones)
        of_pairwise = _times(log_z, p_pairs)
    nothing = (None,) * len(constants)
    if ones is None and pairs is None:
        return of_unary, of_pairwise, *nothing
    if ones is None:
        ones = torch.zeros_like(unary)
    if pairs is None:
        pairs = torch.zeros_like(pairwise)
    scores = unary.detach(), pairwise.detach(), *constants
    more_unary, more_pairwise = covariance(*scores, ones.detach(), pairs.detach())
    if torch.is_grad_enabled():
        more_unary = without_derivative(more_unary, unary, ones, of)
        more_pairwise = without_derivative(more_pairwise, unary, ones, of)
    return of_unary + more_unary, of_pairwise + more_pairwise, *nothing


def _times(log_z: torch.Tensor, marginals: torch.Tensor) -> torch.Tensor:
    """Return marginals `[batch, ...]` times a number for each instance, `[batch]`."""
    return log_z[(..., *(None,) * (marginals.ndim - 1))] * marginals
