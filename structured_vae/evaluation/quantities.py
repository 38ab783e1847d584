"""Numbers of an evaluation, each with what it is: exact, sampled, a bound, or none."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

ACTIVE_SHARE = 0.1
"""A category is active if its average posterior probability is at least this share of 1/k."""


@dataclass(frozen=True)
class Quantity:
    """One number of an evaluation.

    Attributes:
        value: average over the images, in nats; or a count.
        standard_error: over the images; 0 for a count.
        kind: "exact"; "sampled" (without bias); "bound" (in expectation not below the true value);
            "estimate" (of either bias); "not a bound".
        meaning: in a few words.
    """

    value: float
    standard_error: float
    kind: str
    meaning: str


@dataclass(frozen=True)
class Evaluation:
    """The quantities of a model on images.

    Attributes:
        quantities: by name; `reconstruction`, `kl` and `bound` are always there. What else is there
            depends on the model: see `evaluate`, `evaluate_mixture` and `evaluate_attributes`.
        images: how many.
    """

    quantities: dict[str, Quantity]
    images: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def joined(self, quantities: dict[str, Quantity]) -> Evaluation:
        """With more quantities of the same model."""
        return replace(self, quantities=self.quantities | quantities)


def average(column: torch.Tensor, kind: str, meaning: str) -> Quantity:
    """The mean of `column [images]` with its standard error."""
    error = column.std(correction=0).item() / len(column) ** 0.5
    return Quantity(column.mean().item(), error, kind, meaning)
