"""Check the lengths of instances that share a batch."""

from __future__ import annotations

import torch

from ...errors import StructureError, shortened
from .batches import integers


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
    numbers = integers(lengths, wanted, may_be_empty=True)
    if tuple(numbers.shape) != tuple(leading) or bool(((numbers < 1) | (numbers > n)).any()):
        raise StructureError(f"{wanted}; got {shortened(lengths)}")
    return torch.from_numpy(numbers.astype("int64"))[..., None]
