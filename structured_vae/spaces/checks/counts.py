"""Numbers of a structure that may differ by instance, such as the k of k ones."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import torch

from ...autograd.recording import construct_between_graphs
from ...errors import StructureError, shortened
from .batches import integers, positive_integer

LARGEST: Final = 2**63 - 1
"""The largest number that a tensor of numbers by instance holds."""

Counts: TypeAlias = int | tuple[int, ...]
"""One whole number for all instances, or one for each instance of a batch."""


def counts_of(value: object, name: str) -> Counts:
    """Return a whole number of at least 0, or a tuple of them.

    Args:
        value: an integer; or `[batch]`, a tensor, an array or a sequence.
        name: name of the argument, for messages.

    Raises:
        StructureError: the value has another form.
    """
    is_sequence = isinstance(value, torch.Tensor | np.ndarray | list | tuple)
    if not is_sequence:
        return positive_integer(value, name, 0, LARGEST)
    construct_between_graphs()
    wanted = f"{name} must be a whole number of at least 0, or [batch] of them"
    numbers = integers(value, wanted, may_be_empty=True)
    if numbers.ndim == 0:
        return positive_integer(int(numbers), name, 0, LARGEST)
    if numbers.ndim != 1 or bool((numbers < 0).any()):
        raise StructureError(f"{wanted}; got {shortened(value)}")
    return tuple(numbers.tolist())


def largest(counts: Counts) -> int:
    """Return the largest of the numbers; 0 for a batch without instances."""
    if isinstance(counts, int):
        return counts
    return max(counts, default=0)


def check_batch(counts: Counts, leading: torch.Size, name: str) -> None:
    """Raise if the numbers are for another batch than scores `[..., batch, n]`.

    Args:
        counts: the numbers.
        leading: the leading dimensions `[..., batch]` of the scores.
        name: name of the argument, for messages.

    Raises:
        StructureError: the numbers are for another batch.
    """
    if isinstance(counts, tuple):
        check_instances(len(counts), leading, name)


def check_instances(count: int, leading: torch.Size, name: str) -> None:
    """Raise if an argument is for another number of instances than scores `[..., batch, n]` have.

    Args:
        count: the number of instances of the argument.
        leading: the leading dimensions `[..., batch]` of the scores.
        name: name of the argument, for messages.

    Raises:
        StructureError: the scores have another number of instances.
    """
    batch = 1
    if len(leading):
        batch = leading[-1]
    if count != batch:
        raise StructureError(f"{name} has numbers for {count} instances; the scores have {batch}")


def by_row(counts: Counts, rows: torch.Tensor) -> torch.Tensor:
    """Return the number of each row `[rows, 1]`, int64, on the device of `rows`.

    Args:
        counts: the numbers.
        rows: `[rows, n]`, scores `[..., batch, n]` whose leading dimensions became one.
    """
    numbers = torch.tensor(counts, dtype=torch.long, device=rows.device).reshape(-1, 1)
    return numbers.repeat(len(rows) // max(len(numbers), 1), 1)
