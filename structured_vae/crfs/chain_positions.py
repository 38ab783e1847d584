"""The positions of chains of different lengths in one batch, with padding on either side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from models.traced import is_traced

PADDING: Final = -1
"""The label of positions beyond the end of a chain."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Places of the positions of each chain in the caller's arrays.

    Sums over chains need each chain at the first position. `to_start` moves it there, and
    `to_places` moves results back.

    Attributes:
        on: `[length, batch]`, true up to the end of each chain; length is that of the longest one.
        places: `[length, batch]`, the position in the caller's arrays of each position of a chain;
            beyond its end, that of its last position.
        shifted: whether a chain may have padding on its left.
    """

    on: torch.Tensor
    places: torch.Tensor
    shifted: bool

    @classmethod
    def of(cls, mask: torch.Tensor, is_full: bool) -> Positions:
        """Return the positions of the chains that a mask marks.

        Args:
            mask: `[length, batch]`, boolean, true in one block of each chain.
            is_full: whether all chains have full length.
        """
        first = mask.int().argmax(dim=0)
        lengths = mask.sum(dim=0)
        longest = len(mask)
        shifted = not is_full
        # Traced code cannot ask for the values of a mask, so it neither cuts nor looks for shifts.
        if not is_traced() and mask.shape[1]:
            longest = int(lengths.max())
            shifted = bool((first > 0).any())
        steps = torch.arange(longest, device=mask.device)[:, None]
        places = torch.minimum(first + steps, first + lengths - 1)
        return cls(steps < lengths, places, shifted)

    def to_start(self, values: torch.Tensor) -> torch.Tensor:
        """Return values `[..., batch, ...]` with each chain at the first position.

        Args:
            values: the caller's, by position first. The result has the length of the longest
                chain. What it holds beyond the end of a chain means nothing.
        """
        if not self.shifted:
            return values[: len(self.places)]
        return values.gather(0, _index(self.places, values))

    def to_places(self, values: torch.Tensor, length: int) -> torch.Tensor:
        """Return values `[length, batch, ...]` at the caller's positions, 0 elsewhere.

        Args:
            values: by position from the start of each chain, 0 beyond its end.
            length: the length of the caller's arrays.
        """
        if len(values) == length and not self.shifted:
            return values
        places = self.places[: len(values)].clamp_max(max(length - 1, 0))
        zeros = values.new_zeros((length, *values.shape[1:]))
        return zeros.scatter_add(0, _index(places, values), values)


def _index(places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return places `[length, batch]` for every further dimension of the values."""
    further = values.shape[2:]
    return places.reshape(*places.shape, *[1] * len(further)).expand(*places.shape, *further)
