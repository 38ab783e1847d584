"""The numbers of an evaluation, each with its kind: exact, sampled, a bound or not a bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

ACTIVE_SHARE = 0.1
"""A category is active if its average posterior probability is at least this share of 1/k."""


@dataclass(frozen=True)
class Quantity:
    """A number of an evaluation, with its standard error, kind and meaning.

    Attributes:
        value: average over the images, in nats; or a count.
        standard_error: standard error over the images; 0 for a count.
        kind: "exact"; "sampled" (without bias); "bound" (in expectation not below the true value);
            "estimate" (of either bias); "not a bound".
        meaning: a description in a few words.
    """

    value: float
    standard_error: float
    kind: str
    meaning: str


@dataclass(frozen=True)
class Evaluation:
    """The quantities of a model on images.

    Attributes:
        quantities: the quantities by name; `reconstruction`, `kl` and `bound` are always there.
            Others depend on the model: see `evaluate`, `evaluate_mixture` and
            `evaluate_attributes`.
        images: number of images.
    """

    quantities: dict[str, Quantity] = field(hash=False)
    images: int

    def __str__(self) -> str:
        """Return a table of the quantities, one line each."""
        rows = [("", "value", "standard error", "known as", "what it is")]
        for name, quantity in self.quantities.items():
            value = f"{quantity.value:.3f}"
            error = f"{quantity.standard_error:.3f}"
            rows.append((name, value, error, quantity.kind, quantity.meaning))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, f"averages over {self.images} images, in nats"])

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as a dictionary of plain values."""
        return asdict(self)

    def joined(self, quantities: dict[str, Quantity]) -> Evaluation:
        """Return the evaluation with more quantities of the same model."""
        return replace(self, quantities=self.quantities | quantities)


def average(column: torch.Tensor, kind: str, meaning: str) -> Quantity:
    """Return the mean of `column [images]` with its standard error."""
    error = column.std(correction=0).item() / len(column) ** 0.5
    return Quantity(column.mean().item(), error, kind, meaning)
