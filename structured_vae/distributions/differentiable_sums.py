"""Make the sums of `solvers` differentiable, in eager mode and in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import torch

import solvers
from models.potentials import AnyPotentials
from solvers.gibbs_distribution import Completions, Gibbs

from ..autograd.log_partition import gradients_of_sums, keep_marginals
from ..autograd.second_derivatives import without_derivative
from ..autograd.transforms import flat_rows, refuse_vectorised, transformable
from ..spaces.sums.label_sums import LabelSums, LabelSumsCompletions
from ..spaces.sums.table_sums import TableSums

Sums: TypeAlias = Gibbs[torch.Tensor] | LabelSums
"""The sums over bits, or over variables of several values."""

AnyCompletions: TypeAlias = Completions[torch.Tensor] | LabelSumsCompletions
"""The completions of bits, or of variables of several values."""

Both: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Gradients of the unary and of the pairwise scores."""

LARGEST_TABLE: Final = 2**21
"""Most scores in a table of all states of a batch: 16 MiB for each operation of torch."""

MARGINALS: Final = (
    "marginals, entropies and KL of more states than a table holds, and of conditionals,"
)
"""The quantities whose gradient has no derivative, for messages."""


class DifferentiableSums(torch.autograd.Function):
    """The log-partition, the marginals, and the conditionals of completions if any, on the host.

    The gradient of log Z is the marginals, and that of the marginals is the covariance of z_i and
    z_i z_j. With `create_graph=True` the gradient of log Z has a derivative at any size, and so
    has that of the marginals where a table of all states is small; elsewhere it raises.
    """

    @staticmethod
    def forward(
        ctx: Any,
        unary: torch.Tensor,
        pairwise: torch.Tensor,
        like: AnyPotentials,
        sums: Sums,
        completions: AnyCompletions | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return copies of the sums, and save what the gradients need."""
        # Absent gradients stay None; as zeros they would cost a product with the covariance.
        ctx.set_materialize_grads(False)
        ctx.like = like
        ctx.sums = sums
        ctx.completions = completions
        ctx.dtype = unary.dtype
        ctx.save_for_backward(unary, pairwise)
        conditionals = None
        if completions is not None:
            conditionals = completions.conditionals.to(unary.dtype, copy=True)
        return *_values(sums, unary.dtype), conditionals

    @staticmethod
    def backward(
        ctx: Any,
        log_z: torch.Tensor | None,
        ones: torch.Tensor | None,
        pairs: torch.Tensor | None,
        changes: torch.Tensor | None,
    ) -> tuple[torch.Tensor | None, torch.Tensor | None, None, None, None]:
        """Return the gradients of the scores, differentiable where `create_graph` is set."""
        refuse_vectorised("a Gibbs distribution of pairs", log_z, ones, pairs, changes)
        if not torch.is_grad_enabled():
            unary, pairwise = _along(ctx, ones, pairs, changes)
            if log_z is not None:
                unary = unary + log_z[:, None] * ctx.sums.unary_marginals
                pairwise = pairwise + log_z[:, None] * ctx.sums.pairwise_marginals
            return unary.to(ctx.dtype), pairwise.to(ctx.dtype), None, None, None
        batch = len(ctx.like.unary)
        # A small table can be differentiated any number of times, so it goes first.
        if changes is None and batch * ctx.like.state_count <= LARGEST_TABLE:
            return *_by_table(ctx, log_z, ones, pairs), None, None, None
        return *_again(ctx, log_z, ones, pairs, changes), None, None, None


def _along(
    ctx: Any, ones: torch.Tensor | None, pairs: torch.Tensor | None, changes: torch.Tensor | None
) -> Both:
    """Return the share of marginals and conditionals in the gradients, outside of autograd."""
    sums = ctx.sums
    no_ones = torch.zeros_like(sums.unary_marginals)
    if ones is None and pairs is None and changes is None:
        return no_ones, torch.zeros_like(sums.pairwise_marginals)
    mark, (ones, pairs, changes) = usable_directions(ones, pairs, changes)
    if ones is None and pairs is not None:
        ones = no_ones
    if changes is not None:
        both: Both = ctx.completions.derivative(changes, ones, pairs)
    else:
        both = sums.covariance_product(ones, pairs)
    return mark * both[0], mark * both[1]


def usable_directions(
    ones: torch.Tensor | None, pairs: torch.Tensor | None, changes: torch.Tensor | None = None
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return a factor for the derivatives along directions, and finite directions in float64.

    A loss scale that is too large makes gradients that are not finite. Their instances get zero
    directions, and nan as their derivatives, by which a gradient scaler recognises them.

    Args:
        ones: `[batch, n]`.
        pairs: `[batch, e]`.
        changes: `[samples, batch, ...]`.

    Returns:
        `[batch, 1]`, nan for an instance with a number that is not finite and 1 for others; and the
        directions.
    """
    directions = [direction for direction in (ones, pairs) if direction is not None]
    if changes is not None:
        directions.append(changes.transpose(0, 1))
    entries = torch.cat([direction.flatten(1) for direction in directions], dim=1)
    finite = entries.isfinite().all(dim=1, keepdim=True)
    usable = [_where_finite(finite, ones), _where_finite(finite, pairs)]
    if changes is not None:
        changes = changes.double()
        rows = finite.reshape(1, -1, *[1] * (changes.ndim - 2))
        changes = torch.where(rows, changes, 0.0)
    return torch.where(finite, 1.0, torch.nan).double(), [*usable, changes]


def _where_finite(finite: torch.Tensor, direction: torch.Tensor | None) -> torch.Tensor | None:
    if direction is None:
        return None
    return torch.where(finite, direction.double(), 0.0)


def _by_table(
    ctx: Any, log_z: torch.Tensor | None, ones: torch.Tensor | None, pairs: torch.Tensor | None
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the gradients by a table of all states, which torch can differentiate again."""
    # Aliases: pairwise scores may depend on unary ones, whose gradient would then count twice.
    unary, pairwise = (scores.view_as(scores) for scores in ctx.saved_tensors)
    sums = TableSums.of(replace(ctx.like, unary=unary, pairwise=pairwise))
    outputs = sums.log_partition, *sums.marginals
    with_incoming = list(zip(outputs, (log_z, ones, pairs), strict=True))
    values = [value for value, incoming in with_incoming if incoming is not None]
    grads = [incoming.double() for _, incoming in with_incoming if incoming is not None]
    wanted = [scores for scores in (unary, pairwise) if scores.requires_grad]
    gradients = iter(
        torch.autograd.grad(values, wanted, grads, create_graph=True, allow_unused=True)
    )
    of_unary = None
    of_pairwise = None
    if unary.requires_grad:
        of_unary = next(gradients)
    if pairwise.requires_grad:
        of_pairwise = next(gradients)
    return of_unary, of_pairwise


def _again(
    ctx: Any,
    log_z: torch.Tensor | None,
    ones: torch.Tensor | None,
    pairs: torch.Tensor | None,
    changes: torch.Tensor | None,
) -> Both:
    """Return the gradients as functions of the scores.

    The gradient of log Z is the marginals, which are differentiable. The gradient of the marginals
    and of conditionals is a constant here: `without_derivative` refuses to differentiate it.
    """
    of_variables, of_edges = ctx.saved_tensors
    unary = torch.zeros_like(of_variables)
    pairwise = torch.zeros_like(of_edges)
    if log_z is not None:
        values = DifferentiableSums.apply(  # type: ignore[no-untyped-call]  # torch's
            of_variables, of_edges, ctx.like, ctx.sums, None
        )
        _, p_ones, p_pairs, _ = values
        unary = log_z[:, None] * p_ones
        pairwise = log_z[:, None] * p_pairs
    if ones is None and pairs is None and changes is None:
        return unary, pairwise
    with torch.no_grad():
        more_unary, more_pairwise = _along(ctx, ones, pairs, changes)
    incoming = next(grad for grad in (ones, pairs, changes) if grad is not None)
    scores = of_variables
    if not of_variables.requires_grad:
        scores = of_edges
    more_unary = without_derivative(more_unary.to(ctx.dtype), scores, incoming, MARGINALS)
    more_pairwise = without_derivative(more_pairwise.to(ctx.dtype), scores, incoming, MARGINALS)
    return unary + more_unary, pairwise + more_pairwise


def _values(sums: Sums, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return copies of log Z and marginals, since autograd puts its outputs into its graph."""
    log_z = sums.log_partition.to(dtype, copy=True)
    ones = sums.unary_marginals.to(dtype, copy=True)
    pairs = sums.pairwise_marginals.to(dtype, copy=True)
    return log_z, ones, pairs


@torch.library.custom_op("structured_vae::log_partition", mutates_args=())
def log_partition_operator(
    unary: torch.Tensor, pairwise: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log-partition and marginals on the host, by an operator of torch."""
    return _values(solvers.gibbs(unary, pairwise, edges=edges), unary.dtype)


@log_partition_operator.register_fake
def _(
    unary: torch.Tensor, pairwise: torch.Tensor, edges: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        unary.new_empty(unary.shape[0]),
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
    """Return the derivative of the marginals along a direction."""
    sums = solvers.gibbs(unary, pairwise, edges=edges)
    mark, directions = usable_directions(ones, pairs)
    first, second = sums.covariance_product(*directions[:2])
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


_covariance.register_vmap(flat_rows(_covariance, shared=(2,)))


def _backward(
    ctx: Any, log_z: torch.Tensor | None, ones: torch.Tensor | None, pairs: torch.Tensor | None
) -> tuple[torch.Tensor | None, ...]:
    return gradients_of_sums(ctx, (log_z, ones, pairs), _covariance, MARGINALS)


differentiable_log_partition: Callable[..., Any] = transformable(
    log_partition_operator,
    keep_marginals,
    _backward,
    flat_rows(lambda *rows: differentiable_log_partition(*rows), shared=(2,)),
    "the Gibbs distribution of more states than a table holds",
)
"""Log-partition and marginals in compiled code and under `torch.func`."""
