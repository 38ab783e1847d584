"""Log Z of chains as an operation that torch differentiates, and as one that it compiles.

`log_partition` is the first, with the backward algorithm as its backward pass. Code that is
compiled calls `compiled_log_partition` and `compiled_gradients`, whose loops torch does not trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...autograd.contexts import autograd_allowed
from .chain_forward import ForwardPass
from .chain_logarithms import by_logarithms


class _LogPartition(torch.autograd.Function):
    """Log Z, with the backward algorithm as its backward pass.

    Where scores differ too much for it, the backward pass is that of `by_logarithms`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions: torch.Tensor,
        transitions: torch.Tensor,
        start: torch.Tensor,
        end: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(emissions, transitions, start, end, mask)
        ctx.sums = ForwardPass.of(emissions, transitions, start, end, mask)
        if ctx.sums is None:
            return by_logarithms(emissions, transitions, start, end, mask)
        total: torch.Tensor = ctx.sums.log_partition
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *scores, mask = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if ctx.sums is not None and not again:
            return *ctx.sums.gradients(gradient, mask), None
        # A second derivative is asked for, or probabilities would underflow: torch differentiates
        # the sums of logarithms.
        with torch.enable_grad():
            # Aliases: scores may depend on each other, and the gradient depends on the scores.
            inputs = [score.view_as(score) for score in scores]
            if not again:
                inputs = [score.detach().requires_grad_() for score in scores]
            needed = [score for score in inputs if score.requires_grad]
            emissions, transitions, start, end = inputs
            log_z = by_logarithms(emissions, transitions, start, end, mask)
            gradients = torch.autograd.grad(
                log_z, needed, gradient, create_graph=again, allow_unused=True
            )
        remaining = iter(gradients)
        by_input = [next(remaining) if score.requires_grad else None for score in inputs]
        return *by_input, None


def log_partition(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Return log Z `[batch]` in nats, differentiable any number of times.

    Args:
        emissions: `[length, batch, k]`.
        transitions: `[k, k]`, from rows to columns.
        start: `[k]`.
        end: `[k]`.
        mask: `[length, batch]`, true up to the end of each chain.
    """
    total: torch.Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]  # torch's
        emissions, transitions, start, end, mask
    )
    return total


@torch.library.custom_op("structured_vae::chain_log_partition", mutates_args=())
def compiled_log_partition(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Return log Z `[batch]`, by an operator that torch does not compile."""
    return log_partition(emissions, transitions, start, end, mask).clone()


@compiled_log_partition.register_fake
def _(emissions: torch.Tensor, *_others: torch.Tensor) -> torch.Tensor:
    return emissions.new_empty(emissions.shape[1])


@torch.library.custom_op("structured_vae::chain_gradients", mutates_args=())
def compiled_gradients(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
    gradient: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of `gradient [batch]` times log Z in the four kinds of scores."""
    with autograd_allowed():
        inputs = [_leaf(scores) for scores in (emissions, transitions, start, end)]
        total = log_partition(inputs[0], inputs[1], inputs[2], inputs[3], mask)
        first, second, third, fourth = torch.autograd.grad(
            (total * gradient.detach()).sum(), inputs
        )
    return first.clone(), second.clone(), third.clone(), fourth.clone()


@compiled_gradients.register_fake
def _(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return _empty(inputs[:4])


@torch.library.custom_op("structured_vae::chain_second_derivative", mutates_args=())
def _second_derivative(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
    gradient: torch.Tensor,
    directions: list[torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of the result of `compiled_gradients`, multiplied by `directions`."""
    with autograd_allowed():
        inputs = [_leaf(scores) for scores in (emissions, transitions, start, end)]
        weights = _leaf(gradient)
        log_z: Any = by_logarithms(*inputs, mask.detach())  # type: ignore[call-arg]  # of four
        total = (log_z * weights).sum()
        gradients = torch.autograd.grad(total, inputs, create_graph=True)
        along = zip(gradients, directions, strict=True)
        product = torch.stack([(value * way.detach()).sum() for value, way in along]).sum()
        first, second, third, fourth, fifth = torch.autograd.grad(product, [*inputs, weights])
    return first.clone(), second.clone(), third.clone(), fourth.clone(), fifth.clone()


@_second_derivative.register_fake
def _(*inputs: Any) -> tuple[torch.Tensor, ...]:
    *scores, _mask, gradient, _directions = inputs
    return _empty([*scores, gradient])


def _empty(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return tensors of the same shapes, for code that is compiled."""
    return tuple(tensor.new_empty(tensor.shape) for tensor in tensors)


def _leaf(scores: torch.Tensor) -> torch.Tensor:
    return scores.detach().clone().requires_grad_()


def _keep(ctx: Any, inputs: tuple[torch.Tensor, ...], output: object) -> None:
    ctx.save_for_backward(*inputs)


def _log_partition_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    return *compiled_gradients(*ctx.saved_tensors, gradient), None


def _gradients_backward(ctx: Any, *directions: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    *scores, weights = _second_derivative(*ctx.saved_tensors, list(directions))
    return *scores, None, weights


compiled_log_partition.register_autograd(_log_partition_backward, setup_context=_keep)
compiled_gradients.register_autograd(_gradients_backward, setup_context=_keep)
