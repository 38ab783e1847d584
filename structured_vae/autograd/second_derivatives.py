"""Gradients without a derivative, which raise an error when a second derivative is computed.

A backward pass that computes outside of autograd returns a constant. With `create_graph=True`,
torch would silently take its derivative to be zero, and torch's `once_differentiable` notices only
if the incoming gradient has a derivative. So an operator whose backward pass raises an error ties
the gradient to the scores that it depends on.
"""

from __future__ import annotations

from typing import Any

import torch

from models.traced import is_transformed

from ..errors import EstimatorError
from .transforms import Dims, refuse_forward_mode, transformable


def without_derivative(
    gradient: torch.Tensor, scores: torch.Tensor, incoming: torch.Tensor | None, of: str
) -> torch.Tensor:
    """Return the gradient unchanged, but raise an error when its derivative is computed.

    Args:
        gradient: the result of a backward pass.
        scores: the scores that it depends on.
        incoming: the incoming gradient of the backward pass, on which it depends as well.
        of: the name of the layer or loss, for the message.
    """
    tied: torch.Tensor = _tie(gradient, scores, incoming, of)
    return tied


def once_differentiable(scores: torch.Tensor, of: str) -> torch.Tensor:
    """Return the scores unchanged, but raise an error when their gradient is differentiated.

    Sampled losses, whose gradient is a constant, use this.

    Args:
        scores: the scores.
        of: the name of the loss, for the message.
    """
    unchanged: torch.Tensor = _pass_once(scores, scores, of)
    return unchanged


def first_derivative_only(
    surrogate: torch.Tensor, of: str, *scores: torch.Tensor | None
) -> torch.Tensor:
    """Return a surrogate, whose gradient in the scores raises an error if it is differentiated.

    Estimators use it whose surrogate has the gradient of an expected cost, but not its second
    derivative, which torch would take to be zero or another wrong number. It costs nothing until
    there is one: a hook of the surrogate. A derivative in forward mode has no hook, so that it is
    refused from the start.

    Args:
        surrogate: the terms that give the scores their gradient.
        of: the name of the estimator, for the message.
        scores: what the gradient depends on; None is left out.

    Raises:
        EstimatorError: a derivative in forward mode is asked for.
    """
    refuse_forward_mode(of, surrogate)
    if is_transformed():
        # Tensors of `vmap` do not say whether they require a gradient, and have no hooks.
        for values in scores:
            if values is not None:
                surrogate = _pass_once(surrogate, values, of)
        return surrogate
    learnt = [values for values in scores if values is not None and values.requires_grad]
    if not learnt or not surrogate.requires_grad:
        return surrogate

    def tie(gradient: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():
            return gradient
        for values in learnt:
            gradient = without_derivative(gradient, values, gradient, of)
        return gradient

    surrogate.register_hook(tie)  # type: ignore[no-untyped-call]  # torch's
    return surrogate


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
        f"the gradient of {ctx.of} has no derivative: leave out gradient penalties and second "
        "derivatives, or detach the gradient first"
    )


def _tied_instances(info: Any, in_dims: Dims, *args: Any) -> tuple[torch.Tensor, int | None]:
    gradient, scores, incoming, of = args
    return _tie(gradient, scores, incoming, of), in_dims[0]


_tie = transformable(_tied, _keep_name, _refuse, _tied_instances, "a gradient")


@torch.library.custom_op("structured_vae::once", mutates_args=())
def _once(values: torch.Tensor, scores: torch.Tensor, of: str) -> torch.Tensor:
    return values.clone()


@_once.register_fake
def _(values: torch.Tensor, scores: torch.Tensor, of: str) -> torch.Tensor:
    return torch.empty_like(values)


def _keep_scores(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _, scores, ctx.of = inputs
    ctx.save_for_backward(scores)


def _once_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
    (scores,) = ctx.saved_tensors
    return _tie(gradient, scores, gradient, ctx.of), None, None


def _once_instances(info: Any, in_dims: Dims, *args: Any) -> tuple[torch.Tensor, int | None]:
    values, scores, of = args
    return _pass_once(values, scores, of), in_dims[0]


_pass_once = transformable(_once, _keep_scores, _once_backward, _once_instances, "a sampled loss")
