"""Sums over labels as operators of torch, for compiled code and for `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from solvers import labels
from solvers.labels import LabelProblem
from solvers.labels.gibbs_distribution import LabelGibbs

from ...autograd.log_partition import gradients_of_sums, keep_marginals
from ...autograd.transforms import flat_rows, transformable
from ..checks.batches import FORBIDDEN

Three: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@torch.library.custom_op("structured_vae::label_log_partition", mutates_args=())
def _log_partition(
    unary: torch.Tensor, tables: torch.Tensor, edges: torch.Tensor, sizes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log Z `[batch]` and the marginals of `unary [batch, n, k]`, `tables [batch, e, k, k]`.

    Rows of a table are values of the first variable of its edge, in scores and marginals.
    """
    gibbs = _gibbs(unary, tables, edges, sizes)
    pairs = _turned(gibbs.pairwise_marginals, edges)
    return gibbs.log_partition.clone(), _copy(gibbs.unary_marginals), _copy(pairs)


@_log_partition.register_fake
def _(
    unary: torch.Tensor, tables: torch.Tensor, edges: torch.Tensor, sizes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        unary.new_empty(unary.shape[0]),
        unary.new_empty(unary.shape),
        tables.new_empty(tables.shape),
    )


@torch.library.custom_op("structured_vae::label_covariance", mutates_args=())
def _covariance(
    unary: torch.Tensor,
    tables: torch.Tensor,
    edges: torch.Tensor,
    sizes: torch.Tensor,
    ones: torch.Tensor,
    pairs: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the derivative of the marginals along a direction."""
    gibbs = _gibbs(unary, tables, edges, sizes)
    # A loss scale that is too large: zeros for the sums, and NaN for the gradient scaler to see.
    finite = ones.flatten(1).isfinite().all(1) & pairs.flatten(1).isfinite().all(1)
    usable = finite[:, None, None]
    first, second = gibbs.covariance_product(
        torch.where(usable, ones, 0.0), _turned(torch.where(usable[..., None], pairs, 0.0), edges)
    )
    first = torch.where(usable, first, torch.nan)
    second = torch.where(usable[..., None], _turned(second, edges), torch.nan)
    return _copy(first), _copy(second)


@_covariance.register_fake
def _(
    unary: torch.Tensor,
    tables: torch.Tensor,
    edges: torch.Tensor,
    sizes: torch.Tensor,
    ones: torch.Tensor,
    pairs: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    return unary.new_empty(unary.shape), tables.new_empty(tables.shape)


def _copy(values: torch.Tensor) -> torch.Tensor:
    """Return a copy in the layout that compiled code expects."""
    return values.clone(memory_format=torch.contiguous_format)


def _gibbs(
    unary: torch.Tensor, tables: torch.Tensor, edges: torch.Tensor, sizes: torch.Tensor
) -> LabelGibbs[torch.Tensor]:
    unary = unary.masked_fill(unary == FORBIDDEN, -torch.inf)
    tables = tables.masked_fill(tables == FORBIDDEN, -torch.inf)
    pairs = edges.cpu().numpy()
    problem = LabelProblem.from_arrays(unary, tables, edges=pairs, sizes=sizes.cpu().numpy())
    return labels.gibbs(problem)


def _turned(tables: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """Transpose the tables of edges whose first variable is not the lower one."""
    turned = (edges[:, 0] > edges[:, 1]).to(tables.device)[:, None, None]
    return torch.where(turned, tables.transpose(-1, -2), tables)


def _backward(
    ctx: Any, log_z: torch.Tensor | None, ones: torch.Tensor | None, pairs: torch.Tensor | None
) -> tuple[torch.Tensor | None, ...]:
    gradients = log_z, ones, pairs
    return gradients_of_sums(ctx, gradients, _covariance, "marginals of PairwiseLabels")


_covariance.register_vmap(flat_rows(_covariance, shared=(2, 3)))

label_log_partition: Callable[..., Three] = transformable(
    _log_partition,
    keep_marginals,
    _backward,
    flat_rows(lambda *rows: label_log_partition(*rows), shared=(2, 3)),
    "the distribution of PairwiseLabels",
)
"""Log Z and marginals, differentiable in compiled code and under `torch.func`."""
