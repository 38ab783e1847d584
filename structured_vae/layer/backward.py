"""The gradients of the argmax z of a layer: implicit MLE and straight-through.

Implicit MLE is an operator of torch, whose backward pass computes a second argmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import torch

from models import Potentials

from ..autograd.second_derivatives import without_derivative
from ..autograd.transforms import Dims, leading, refuse_mapped_edges, transformable
from ..distributions.argmax_module import module_of
from .second_argmax import SteppingModule

Backward = Literal["implicit_mle", "straight_through"]

IMPLICIT_MLE: Final = "implicit MLE of an ArgmaxLayer"
"""The name of the gradient, for messages."""


def implicit_mle(layer: SteppingModule, potentials: Potentials, z: torch.Tensor) -> torch.Tensor:
    """Return z with the gradient of implicit MLE."""
    learnable: torch.Tensor = _learn(*potentials.scores(), potentials.edges, z, layer._number)
    return learnable


def straight_through(
    layer: SteppingModule, potentials: Potentials, z: torch.Tensor
) -> torch.Tensor:
    """Return z with the gradient of the unary scores: the incoming one, unchanged."""
    # Forbidden scores are stored as 0 without gradient, so their difference is 0, not nan.
    return z + (potentials.unary - potentials.unary.detach())


BACKWARD: Final[dict[str, Callable[[SteppingModule, Potentials, torch.Tensor], torch.Tensor]]] = {
    "implicit_mle": implicit_mle,
    "straight_through": straight_through,
}
"""The functions that give z its gradient, by the name of the estimator."""


@torch.library.custom_op("structured_vae::learnable", mutates_args=())
def _learnable(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    layer: int,
) -> torch.Tensor:
    """Return a copy of the argmax z; the backward pass compares it with a second argmax."""
    return z.clone()


@_learnable.register_fake
def _(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    layer: int,
) -> torch.Tensor:
    return torch.empty_like(z)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    unary, pairwise, edges, z, ctx.number = inputs
    ctx.layer = module_of(ctx.number)  # keeps the layer alive until the backward pass
    ctx.save_for_backward(unary, pairwise, edges, z)


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """Return the difference of the two argmaxes, divided by epsilon.

    An incoming gradient that is not finite is passed on unchanged, and as nan to the pairwise
    scores. A loss scale that is too large causes such gradients, and the code that sets the scale
    looks for them.
    """
    unary, pairwise, edges, z = ctx.saved_tensors
    potentials = Potentials(unary, pairwise, edges)
    other, epsilon = ctx.layer.second(potentials, z, gradient)
    # A loss scale that is too large gives such gradients: its instances pass them on as they are.
    finite = gradient.isfinite().all(dim=-1, keepdim=True)
    singles = torch.where(finite, (z - other) / epsilon, gradient)
    pairs = None
    if pairwise is not None:
        moved = potentials.pairs(z) - potentials.pairs(other)
        pairs = torch.where(finite, moved / epsilon, torch.nan)
    if torch.is_grad_enabled():
        name = "ArgmaxLayer(estimator='implicit_mle')"
        singles = without_derivative(singles, unary, gradient, name)
        if pairs is not None:
            pairs = without_derivative(pairs, pairwise, gradient, name)
    return singles, pairs, None, None, None


def _instances(info: Any, in_dims: Dims, *args: Any) -> tuple[torch.Tensor, int]:
    """Call the operator for all instances that `vmap` maps over at once."""
    unary, pairwise, edges, z, layer = args
    refuse_mapped_edges(in_dims[2])
    rows = [
        leading(value, dim, info.batch_size)
        for value, dim in zip((unary, pairwise, z), (*in_dims[:2], in_dims[3]), strict=True)
    ]
    return _learn(rows[0], rows[1], edges, rows[2], layer), 0


_learn = transformable(_learnable, _keep, _backward, _instances, IMPLICIT_MLE)
