"""Log-partition and marginals by `solvers`, with derivatives, for graphs of torch and for compiled code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeAlias

import torch

import solvers
from models.potentials import AnyPotentials

from ..second_derivatives import without_derivative
from ..spaces.label_sums import LabelSums, LabelSumsCompletions

Sums: TypeAlias = solvers.Gibbs[torch.Tensor] | LabelSums
"""Of bits, or of variables of several values."""

AnyCompletions: TypeAlias = solvers.Completions[torch.Tensor] | LabelSumsCompletions
"""Of bits, or of variables of several values."""

Both: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Gradients of the unary and of the pairwise scores."""

LARGEST_TABLE: Final = 2**21
"""Scores of all states of a batch, from which torch takes derivatives of any order: 16 MiB for each operation."""

MARGINALS: Final = (
    "marginals, entropies and KL of more states than a table holds, and of conditionals,"
)
"""What has a gradient without a derivative."""


def table_sums(h: AnyPotentials) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log-partition and marginals from the scores of all states, differentiable as often as one likes."""
    states = h.states()
    table = h.table(states)
    probabilities = table.softmax(dim=-1)
    return table.logsumexp(dim=-1), probabilities @ states, probabilities @ h.pairs(states)


class DifferentiableSums(torch.autograd.Function):
    """Log-partition, marginals, and the conditionals of completions if any, on the host.

    The gradient of log Z is the marginals, and that of the marginals is the covariance of z_i and
    z_i z_j. With `create_graph=True` the gradient of log Z has a derivative at any size, and that
    of marginals where a table of all states is small; elsewhere a derivative of it is refused.
    """

    @staticmethod
    def forward(
        ctx: Any,
        unary: torch.Tensor,
        pairwise: torch.Tensor,
        like: AnyPotentials,
        found: Sums,
        completions: AnyCompletions | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return copies of what is known, and keep what the gradients need."""
        ctx.set_materialize_grads(False)
        ctx.like, ctx.found, ctx.completions = like, found, completions
        ctx.dtype = unary.dtype
        ctx.save_for_backward(unary, pairwise)
        conditionals = (
            None if completions is None else completions.conditionals.to(unary.dtype, copy=True)
        )
        return *_values(found, unary.dtype), conditionals

    @staticmethod
    def backward(
        ctx: Any,
        log_z: torch.Tensor | None,
        ones: torch.Tensor | None,
        pairs: torch.Tensor | None,
        changes: torch.Tensor | None,
    ) -> tuple[torch.Tensor | None, torch.Tensor | None, None, None, None]:
        """Return the gradients of the scores, with derivatives of their own where `create_graph` asks for them."""
        if not torch.is_grad_enabled():
            unary, pairwise = _along(ctx, ones, pairs, changes)
            if log_z is not None:
                unary = unary + log_z[:, None] * ctx.found.unary_marginals
                pairwise = pairwise + log_z[:, None] * ctx.found.pairwise_marginals
            return unary.to(ctx.dtype), pairwise.to(ctx.dtype), None, None, None
        batch = len(ctx.like.unary)
        if changes is None and batch * ctx.like.state_count <= LARGEST_TABLE:
            return *_by_table(ctx, log_z, ones, pairs), None, None, None
        return *_again(ctx, log_z, ones, pairs, changes), None, None, None


def _along(
    ctx: Any, ones: torch.Tensor | None, pairs: torch.Tensor | None, changes: torch.Tensor | None
) -> Both:
    """Return what marginals and conditionals add to the gradients, outside of autograd."""
    found = ctx.found
    zeros = torch.zeros_like(found.unary_marginals), torch.zeros_like(found.pairwise_marginals)
    if ones is None and pairs is None and changes is None:
        return zeros
    mark, (ones, pairs, changes) = usable_directions(ones, pairs, changes)
    if ones is None and pairs is not None:
        ones = zeros[0]
    if changes is not None:
        both: Both = ctx.completions.derivative(changes, ones, pairs)
    else:
        both = found.covariance_product(ones, pairs)
    return mark * both[0], mark * both[1]


def usable_directions(
    ones: torch.Tensor | None, pairs: torch.Tensor | None, changes: torch.Tensor | None = None
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return a factor for the derivatives along directions, and directions that are finite, in float64.

    A loss scale that is too large makes gradients that are not finite. Their instances get zero
    directions, and nan as their derivatives, for which whoever chose the scale looks.

    Args:
        ones: `[batch, n]`.
        pairs: `[batch, e]`.
        changes: `[samples, batch, ...]`.

    Returns:
        `[batch, 1]`, nan for an instance with a number that is not finite and 1 for others; and the
        directions.
    """
    by_instance = (ones, pairs, None if changes is None else changes.transpose(0, 1))
    parts = [part.flatten(1) for part in by_instance if part is not None]
    finite = torch.cat(parts, dim=1).isfinite().all(dim=1, keepdim=True)
    usable = [_where_finite(finite, part) for part in by_instance[:2]]
    if changes is not None:
        changes = changes.double()
        rows = finite.reshape(1, -1, *[1] * (changes.ndim - 2))
        changes = torch.where(rows, changes, 0.0)
    return torch.where(finite, 1.0, torch.nan).double(), [*usable, changes]


def _where_finite(finite: torch.Tensor, part: torch.Tensor | None) -> torch.Tensor | None:
    return None if part is None else torch.where(finite, part.double(), 0.0)


def _by_table(
    ctx: Any, log_z: torch.Tensor | None, ones: torch.Tensor | None, pairs: torch.Tensor | None
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the gradients by a table of all states, which torch differentiates further."""
    given = ctx.saved_tensors
    double = replace(ctx.like, unary=given[0].double(), pairwise=given[1].double())
    coming = [
        (value, grad) for value, grad in zip(table_sums(double), (log_z, ones, pairs), strict=True)
    ]
    values = [value for value, grad in coming if grad is not None]
    grads = [grad.double() for _, grad in coming if grad is not None]
    wanted = [part for part in given if part.requires_grad]
    gradients = iter(
        torch.autograd.grad(values, wanted, grads, create_graph=True, allow_unused=True)
    )
    unary, pairwise = (next(gradients) if part.requires_grad else None for part in given)
    return unary, pairwise


def _again(
    ctx: Any,
    log_z: torch.Tensor | None,
    ones: torch.Tensor | None,
    pairs: torch.Tensor | None,
    changes: torch.Tensor | None,
) -> Both:
    """Return the gradients as functions of the scores: those of log Z are sums again."""
    given = ctx.saved_tensors
    zeros = [torch.zeros_like(part) for part in given]
    unary, pairwise = zeros
    if log_z is not None:
        _, of_ones, of_pairs, _ = DifferentiableSums.apply(*given, ctx.like, ctx.found, None)  # type: ignore[no-untyped-call]
        unary, pairwise = log_z[:, None] * of_ones, log_z[:, None] * of_pairs
    if ones is None and pairs is None and changes is None:
        return unary, pairwise
    with torch.no_grad():
        constant = _along(ctx, ones, pairs, changes)
    incoming = next(part for part in (ones, pairs, changes) if part is not None)
    scores = given[0] if given[0].requires_grad else given[1]
    further = (
        without_derivative(part.to(ctx.dtype), scores, incoming, MARGINALS) for part in constant
    )
    return unary + next(further), pairwise + next(further)


def _values(found: Sums, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return copies, as autograd makes what is returned a part of its graph."""
    parts = (found.log_partition, found.unary_marginals, found.pairwise_marginals)
    log_z, ones, pairs = (part.to(dtype, copy=True) for part in parts)
    return log_z, ones, pairs


@torch.library.custom_op("structured_vae::log_partition", mutates_args=())
def log_partition_operator(
    unary: torch.Tensor, pairwise: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-partition on the host, which `torch.compile` leaves whole; and its gradient, the marginals."""
    return _values(solvers.gibbs(unary, pairwise, edges=edges), unary.dtype)


@log_partition_operator.register_fake
def _(
    unary: torch.Tensor, pairwise: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        unary.new_empty(len(unary)),
        unary.new_empty(unary.shape),
        pairwise.new_empty(pairwise.shape),
    )


@torch.library.custom_op("structured_vae::covariance", mutates_args=())
def _covariance(
    unary: torch.Tensor,
    pairwise: torch.Tensor,
    edges: torch.Tensor,
    ones: torch.Tensor,
    pairs: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The derivative of the marginals along a direction."""
    found = solvers.gibbs(unary, pairwise, edges=edges)
    mark, directions = usable_directions(ones, pairs)
    first, second = found.covariance_product(*directions[:2])
    return (mark * first).to(unary.dtype, copy=True), (mark * second).to(unary.dtype, copy=True)


@_covariance.register_fake
def _(
    unary: torch.Tensor,
    pairwise: torch.Tensor,
    edges: torch.Tensor,
    ones: torch.Tensor,
    pairs: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    return unary.new_empty(unary.shape), pairwise.new_empty(pairwise.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, *output[1:])


def _log_partition_backward(
    ctx: Any, log_z: torch.Tensor | None, ones: torch.Tensor | None, pairs: torch.Tensor | None
) -> tuple[torch.Tensor | None, ...]:
    """Return the marginals times the gradient of log Z, and the covariance with those of the marginals."""
    unary, pairwise, edges, of_ones, of_pairs = ctx.saved_tensors
    first, second = torch.zeros_like(unary), torch.zeros_like(pairwise)
    if log_z is not None:
        first, second = log_z[:, None] * of_ones, log_z[:, None] * of_pairs
    if ones is not None or pairs is not None:
        ones = torch.zeros_like(unary) if ones is None else ones
        pairs = torch.zeros_like(pairwise) if pairs is None else pairs
        further = _covariance(unary, pairwise, edges, ones, pairs)
        if torch.is_grad_enabled():
            further = tuple(without_derivative(part, unary, ones, MARGINALS) for part in further)
        first, second = first + further[0], second + further[1]
    return first, second, None


log_partition_operator.register_autograd(_log_partition_backward, setup_context=_keep)
