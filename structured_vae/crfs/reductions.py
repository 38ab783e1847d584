"""Reductions of the log likelihoods of a batch."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import torch

from ..errors import StructureError, shortened

Reduction: TypeAlias = Literal["none", "sum", "mean", "token_mean"]
"""One value per instance; their sum; their mean; or their sum divided by the number of labels."""

REDUCTIONS: Final = ("none", "sum", "mean", "token_mean")


def check_reduction(reduction: object) -> None:
    """Raise if `reduction` is not a `Reduction`.

    Raises:
        StructureError: `reduction` has another value.
    """
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise StructureError(
            f"reduction must be one of {', '.join(REDUCTIONS)}; got {shortened(reduction)}"
        )


def reduced(
    values: torch.Tensor,
    reduction: Reduction,
    tokens: torch.Tensor,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Reduce the values `[batch]` to a scalar, or return them unchanged for "none".

    Callers reduce in float64 and cast the result, since the sum of a batch may exceed the range of
    16-bit types although its mean does not.

    Args:
        values: `[batch]`.
        reduction: the reduction.
        tokens: `[batch]`, the number of labels of each instance.
        weights: `[batch]`, by which the values are multiplied. Means are divided by the sum of the
            weights, and means over labels by the sum of the weights of all labels. None for ones.
    """
    if weights is None:
        weights = torch.ones_like(values)
    else:
        # A weight of 0 leaves an instance out, even one whose value is infinite.
        values = torch.where(weights > 0, weights * values, 0.0)
    if reduction == "none":
        return values
    total = values.sum()
    if reduction == "sum":
        return total
    if reduction == "mean":
        return total / weights.sum()
    return total / (weights * tokens).sum()
