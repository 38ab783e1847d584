"""Check the emissions, masks and restrictions that a caller passes to a chain."""

from __future__ import annotations

from typing import Final

import torch

from models.traced import holds, plain

from ..errors import StructureError, shortened
from ..spaces.checks.batches import is_of_floats
from .targets import are_labels, is_tensor

FREE: Final = -1
"""The label in `fix` of a position whose tag is free."""


def check_emissions(emissions: torch.Tensor, k: int, batch_first: bool) -> None:
    """Raise unless emissions are floats `[batch, length, k]`, or `[length, batch, k]`.

    Raises:
        StructureError: they have another type or shape, or the length is 0.
    """
    if not is_of_floats(emissions):
        raise StructureError(
            "emissions must be a tensor of a floating-point type of 16 bits or more; "
            f"got {shortened(emissions)}"
        )
    order = "length, batch"
    if batch_first:
        order = "batch, length"
    if emissions.ndim != 3 or emissions.shape[2] != k:
        raise StructureError(f"emissions must be [{order}, {k}]; got {list(emissions.shape)}")
    if not emissions.shape[int(batch_first)]:
        raise StructureError(
            f"emissions must be [{order}, {k}] of a length of at least 1; "
            f"got {list(emissions.shape)}"
        )


def mask_of(mask: torch.Tensor | None, emissions: torch.Tensor) -> torch.Tensor:
    """Return the mask as booleans on the device of the emissions; None is true everywhere.

    Raises:
        StructureError: the mask does not have the shape of the emissions.
    """
    shape = emissions.shape[:2]
    if mask is None:
        return emissions.new_ones(shape, dtype=torch.bool)
    if not is_tensor(mask) or mask.shape != shape:
        received = shortened(mask)
        if is_tensor(mask):
            received = str(list(mask.shape))
        raise StructureError(f"mask must be a tensor {list(shape)}; got {received}")
    return mask.to(emissions.device).bool()


def require_blocks(mask: torch.Tensor) -> None:
    """Raise unless a mask `[length, batch]` is true in exactly one block of each chain.

    Raises:
        StructureError: a chain is empty, or its mask has holes.
    """
    # A block begins where the mask turns true.
    begins = (mask[1:] & ~mask[:-1]).sum(dim=0) + mask[0]
    if not holds(begins == 1):
        blocks = plain(begins)
        wrong = tuple((blocks != 1).nonzero()[0].tolist())
        raise StructureError(
            "mask must be true at the positions of each chain, which are one block without "
            f"holes and at least one; chain {wrong[-1]} has {int(blocks[wrong])} blocks"
        )


def restricted(
    emissions: torch.Tensor, fix: torch.Tensor | None, allowed: torch.Tensor | None
) -> torch.Tensor:
    """Return the emissions with minus infinity for tags that `fix` or `allowed` rules out.

    Args:
        emissions: checked by `check_emissions`.
        fix: integers in the shape of a mask, the tag of a position, or -1 where it is free.
        allowed: booleans in the shape of the emissions, False where a tag is forbidden.

    Raises:
        StructureError: `fix` or `allowed` has another form.
    """
    if allowed is not None:
        if not is_tensor(allowed) or allowed.dtype != torch.bool:
            raise StructureError(f"allowed must be booleans; got {shortened(allowed)}")
        if allowed.shape != emissions.shape:
            raise StructureError(
                f"allowed must be {list(emissions.shape)} as the emissions; "
                f"got {list(allowed.shape)}"
            )
        emissions = emissions.masked_fill(~allowed.to(emissions.device), -torch.inf)
    if fix is None:
        return emissions
    if not is_tensor(fix) or not are_labels(fix) or fix.shape != emissions.shape[:2]:
        raise StructureError(
            f"fix must be integers {list(emissions.shape[:2])}; got {shortened(fix)}"
        )
    k = emissions.shape[-1]
    if bool(((fix < FREE) | (fix >= k)).any()):
        raise StructureError(f"fix must be from 0 to {k - 1}, or {FREE} where a tag is free")
    numbers = fix.to(emissions.device)[..., None]
    tags = torch.arange(k, device=emissions.device)
    return emissions.masked_fill((numbers != FREE) & (numbers != tags), -torch.inf)
