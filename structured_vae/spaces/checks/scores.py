"""Make checked potentials from the scores that a caller gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from models import Potentials
from models.traced import is_traced
from solvers import Problem, ProblemError

from ...errors import shortened
from .batches import check_dense, is_dense

EdgesLike: TypeAlias = torch.Tensor | np.ndarray | Sequence[Sequence[int]]
"""Pairs `[e, 2]`, or `[2, e]` where e is not 2."""


def potentials_of(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None = None,
    edges: EdgesLike | None = None,
    mask: torch.Tensor | None = None,
) -> Potentials:
    """Return the potentials of unary scores and of pairwise scores by edge.

    A score of minus infinity, or the least number of its type, forbids its variable or its pair. A
    matrix gives every pair an edge, so that pairs of score zero can learn. Compiled code and
    transforms of `torch.func` skip the checks: the solver makes them again.

    Args:
        unary: `[..., batch, n]`.
        pairwise: `[..., batch, e]` with edges, else `[..., batch, n, n]`; None for none.
        edges: `[e, 2]`.
        mask: True where a variable may be 1, in a shape that broadcasts to that of `unary`; None
            for everywhere.

    Raises:
        solvers.ProblemError: the scores do not describe a problem, or the mask has another type or
            shape.
    """
    if not is_traced():
        _check_tensors(unary, pairwise)
    unary = masked(unary, mask)
    if not is_traced():
        # Minus infinity forbids; the checks of the problem are for the remaining, finite scores.
        pairs = pairwise
        if pairs is not None:
            pairs = _without_forbidden(pairs)
        finite = _without_forbidden(unary)
        problem = Problem.from_arrays(finite, pairs, edges=edges)  # raises unless it is a problem
        if edges is not None:
            edges = problem.edges
        if not unary.is_floating_point():
            raise ProblemError(
                f"unary must be of a floating-point type, as z will be; it is {unary.dtype}"
            )
    if pairwise is None:
        return Potentials.of_scores(unary)
    pairwise = pairwise.to(unary.dtype)  # z is of this type, and so is what flows back to it
    if edges is not None:
        rows = _upright(torch.as_tensor(edges, device=unary.device))
        return _broadcast(unary, pairwise, rows.long())
    n = unary.shape[-1]
    first, second = torch.triu_indices(n, n, 1, device=unary.device)
    return _broadcast(unary, pairwise[..., first, second], torch.stack([first, second], dim=1))


def masked(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Return scores with minus infinity where a mask is False; these get no gradient.

    Args:
        scores: `[..., n]`.
        mask: boolean, in a shape that broadcasts to that of the scores; None to change nothing.

    Raises:
        solvers.ProblemError: the mask is not boolean, or has another shape.
    """
    if mask is None or not isinstance(scores, torch.Tensor):
        return scores
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        received = shortened(mask)
        if isinstance(mask, torch.Tensor):
            received = str(mask.dtype)
        raise ProblemError(
            f"mask must be a boolean tensor, True where a variable may be 1; got {received}"
        )
    fits = mask.ndim <= scores.ndim and all(
        size in (1, wanted)
        for size, wanted in zip(mask.shape[::-1], scores.shape[::-1], strict=False)
    )
    if not fits:
        raise ProblemError(
            f"mask must be {list(scores.shape)} as the scores, or broadcast to it; "
            f"got {list(mask.shape)}"
        )
    check_dense(mask, "mask", ProblemError)
    if not scores.is_floating_point():
        return scores  # its callers refuse such scores
    return scores.masked_fill(~mask.to(scores.device), -torch.inf)


def _upright(edges: torch.Tensor) -> torch.Tensor:
    """Return edges `[e, 2]` from `[e, 2]` or `[2, e]`, as `Problem.from_arrays` reads them."""
    if edges.shape[0] == 2 != edges.shape[-1]:
        return edges.T
    return edges.reshape(-1, 2)


def _broadcast(unary: torch.Tensor, pairwise: torch.Tensor, edges: torch.Tensor) -> Potentials:
    leading = torch.broadcast_shapes(  # type: ignore[no-untyped-call]  # torch's
        unary.shape[:-1], pairwise.shape[:-1]
    )
    return Potentials.of_scores(
        unary.expand(*leading, unary.shape[-1]),
        pairwise.expand(*leading, pairwise.shape[-1]),
        edges,
    )


def _without_forbidden(scores: torch.Tensor) -> torch.Tensor:
    """Return the scores with -1, an ordinary score, in place of those that forbid."""
    if not is_dense(scores) or not scores.is_floating_point():
        return scores
    forbidden = Potentials.forbids(scores.detach())
    if not bool(forbidden.any()):
        return scores
    return scores.detach().masked_fill(forbidden, -1.0)


def _check_tensors(unary: object, pairwise: object) -> None:
    _check_tensor("unary", unary)
    if pairwise is not None:
        _check_tensor("pairwise", pairwise)


def _check_tensor(name: str, scores: object) -> None:
    if not isinstance(scores, torch.Tensor):
        raise ProblemError(f"{name} must be a torch tensor; got {shortened(scores)}")
    if scores.is_floating_point() and scores.element_size() < 2:
        raise ProblemError(
            f"{name} is {scores.dtype}; torch computes with 16 bits or more: pass {name}.float()"
        )
