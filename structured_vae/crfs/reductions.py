"""What becomes of the log likelihoods of a batch."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import torch

from ..errors import StructureError, shortened

Reduction: TypeAlias = Literal["none", "sum", "mean", "token_mean"]
"""One an instance; their sum; their mean; or their sum by the number of labels in the batch."""

REDUCTIONS: Final = ("none", "sum", "mean", "token_mean")


def check_reduction(reduction: object) -> None:
    """Refuses what is no `Reduction`.

    Raises:
        StructureError: it is none.
    """
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise StructureError(
            f"reduction must be one of {', '.join(REDUCTIONS)}; got {shortened(reduction)}"
        )


def reduced(values: torch.Tensor, reduction: Reduction, tokens: torch.Tensor | int) -> torch.Tensor:
    """Return `[batch]` or a scalar, of values `[batch]` of so many labels in all.

    Callers reduce in float64 and cast what comes out: sums of a batch leave the range of 16 bits,
    its means do not.
    """
    if reduction == "none":
        return values
    if reduction == "mean":
        return values.mean()
    total = values.sum()
    return total if reduction == "sum" else total / tokens
