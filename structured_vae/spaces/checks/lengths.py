"""Check the lengths of instances that share a batch."""

from __future__ import annotations

from typing import Final

import torch

from models.traced import holds

from ...errors import StructureError, shortened
from .batches import integers, is_dense

INTEGERS: Final = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
"""The types of integers that torch compares with numbers on every device."""


def lengths_of(lengths: object, n: int, leading: torch.Size) -> torch.Tensor:
    """Return the number of positions of each instance, `[..., 1]`, int64.

    Args:
        lengths: `[batch]`, a tensor, an array or a list.
        n: the largest length.
        leading: the leading dimensions of the scores.

    Raises:
        StructureError: the lengths have another form, or one is not from 1 to n.
    """
    wanted = f"lengths must be {list(leading)} integers from 1 to {n}"
    if isinstance(lengths, torch.Tensor) and is_dense(lengths) and lengths.dtype in INTEGERS:
        numbers = lengths.long()
    else:
        numbers = torch.from_numpy(integers(lengths, wanted, may_be_empty=True).astype("int64"))
    if tuple(numbers.shape) != tuple(leading) or not holds((numbers >= 1) & (numbers <= n)):
        raise StructureError(f"{wanted}; got {shortened(lengths)}")
    return numbers[..., None]


def nan_if_out_of_range(scores: torch.Tensor, lengths: torch.Tensor, n: int) -> torch.Tensor:
    """Return the scores, in compiled code NaN for instances whose length is out of range.

    Compiled code cannot raise an error that depends on values, so `lengths_of` does not check them
    there.

    Args:
        scores: `[..., dimension]`.
        lengths: `[..., 1]`, as `lengths_of` returns them.
        n: the largest length.
    """
    if not torch.compiler.is_compiling():
        return scores
    return torch.where((lengths >= 1) & (lengths <= n), scores, torch.nan)
