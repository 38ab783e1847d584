"""Gradients that have no derivative of their own, and say so when one is asked for.

A backward pass that computes outside of autograd gives a constant. With `create_graph=True` torch
would take its derivative to be zero without a word, and `once_differentiable` notices only where
the incoming gradient has a derivative. So what depends on scores is tied to them by an operator
whose own derivative is an error.
"""

from __future__ import annotations

from typing import Any

import torch

from .errors import EstimatorError


def without_derivative(
    gradient: torch.Tensor, scores: torch.Tensor, incoming: torch.Tensor | None, of: str
) -> torch.Tensor:
    """Return the gradient, whose derivative is refused.

    Args:
        gradient: what a backward pass gives.
        scores: what it depends on.
        incoming: the gradient that came to the backward pass, on which it depends too.
        of: what has the gradient, as the error names it.
    """
    tied: torch.Tensor = _tied(gradient, scores, incoming, of)
    return tied


def once_differentiable(scores: torch.Tensor, of: str) -> torch.Tensor:
    """Return the scores, whose gradient has no derivative: for sampled losses with a constant gradient."""
    same: torch.Tensor = _once(scores, of)
    return same


@torch.library.custom_op("structured_vae::tied", mutates_args=())
def _tied(
    gradient: torch.Tensor, scores: torch.Tensor, incoming: torch.Tensor | None, of: str
) -> torch.Tensor:
    return gradient.clone()


@_tied.register_fake
def _(
    gradient: torch.Tensor, scores: torch.Tensor, incoming: torch.Tensor | None, of: str
) -> torch.Tensor:
    return torch.empty_like(gradient)


def _keep_name(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.of = inputs[3]


def _refuse(ctx: Any, gradient: torch.Tensor) -> tuple[None, ...]:
    raise EstimatorError(
        f"the gradient of {ctx.of} has no derivative: leave gradient penalties and second derivatives out, or detach "
        "the gradient first"
    )


_tied.register_autograd(_refuse, setup_context=_keep_name)


@torch.library.custom_op("structured_vae::once", mutates_args=())
def _once(scores: torch.Tensor, of: str) -> torch.Tensor:
    return scores.clone()


@_once.register_fake
def _(scores: torch.Tensor, of: str) -> torch.Tensor:
    return torch.empty_like(scores)


def _keep_scores(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    scores, ctx.of = inputs
    ctx.save_for_backward(scores)


def _once_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
    (scores,) = ctx.saved_tensors
    return _tied(gradient, scores, None, ctx.of), None


_once.register_autograd(_once_backward, setup_context=_keep_scores)
