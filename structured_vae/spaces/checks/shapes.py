"""Check the shapes of arrays of scores."""

from __future__ import annotations

import torch

from ...errors import StructureError, shortened
from .batches import check_dense


def require_shape(values: object, shape: tuple[int, ...], name: str) -> None:
    """Raise unless `values` is a tensor whose last dimensions are `shape`.

    Args:
        values: what a caller passed.
        shape: the last dimensions.
        name: the name of the argument, for messages.

    Raises:
        StructureError: the value is not a dense tensor, or has another shape.
    """
    if isinstance(values, torch.Tensor):
        check_dense(values, name, StructureError)
        if tuple(values.shape[-len(shape) :]) == shape:
            return
        received = str(list(values.shape))
    else:
        received = shortened(values)
    sizes = ", ".join(map(str, shape))
    raise StructureError(f"{name} must be [..., {sizes}]; got {received}")
