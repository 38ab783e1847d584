"""List the states of a space that has only an argmax, and find states in such a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch

from ..errors import StructureError

WORD: Final = 31
"""Bits of a state that are compared at once; with the rank of another word they fit 64 bits."""

ROWS: Final = 1 << 14
"""The number of prefixes of which one call of an argmax decides whether they have a state."""


def listed_by_argmax(
    argmax: Callable[[torch.Tensor], torch.Tensor], n: int, like: torch.Tensor, most: int
) -> torch.Tensor:
    """Return every state `[states, n]` of a space, in the order of `in_order`.

    The prefixes of the states grow by one entry after the other. A prefix has a state at hand, so
    one of its two extensions is that of this state. The other one exists if an argmax finds a state
    that agrees with it: scores of 1 for its ones, -1 for its zeros and 0 for later entries add up
    to the number of its ones for such states alone. So the argmax is called at most n times for
    each state.

    Args:
        argmax: returns states `[rows, n]` of highest score for scores `[rows, n]`.
        n: entries of a state.
        like: a tensor of the type and device that the states get.
        most: the largest number of states.

    Raises:
        StructureError: there are more than `most` states.
    """
    z = argmax(torch.zeros((1, n), dtype=like.dtype, device=like.device)).to(like)
    for i in range(n):
        wanted = 2 * z - 1
        wanted[:, i] = -wanted[:, i]
        wanted[:, i + 1 :] = 0
        others = torch.cat([argmax(rows).to(like) for rows in torch.split(wanted, ROWS)])
        agrees = (others[:, : i + 1] == (wanted[:, : i + 1] > 0)).all(dim=-1)
        z = torch.cat([z, others[agrees]])
        if len(z) > most:
            raise StructureError(f"there are more than {most:,} states to list")
    return in_order(z)


def in_order(states: torch.Tensor) -> torch.Tensor:
    """Return different states `[states, n]` in the order of their bits as numbers, lowest first."""
    ordered: torch.Tensor = states[_ranks(states, states)[0].argsort()]
    return ordered


def places_among(states: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Return `[...]`, the place in `states [states, n]` of each state of `z [..., n]`.

    Args:
        states: different states.
        z: states that are among them.
    """
    ranks, ranks_of_z = _ranks(states, z.reshape(-1, z.shape[-1]))
    return ranks.argsort()[ranks_of_z].reshape(z.shape[:-1])


def _ranks(states: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ranks of `states [states, n]` among themselves, and those of `z [rows, n]`.

    States of any length are compared word by word, from the highest word on: after each word, the
    ranks so far stand for all words before.
    """
    ranks = torch.zeros(len(states), dtype=torch.long, device=states.device)
    ranks_of_z = torch.zeros(len(z), dtype=torch.long, device=z.device)
    for first in reversed(range(0, states.shape[-1], WORD)):
        numbers = (ranks << WORD) + _word(states, first)
        numbers_of_z = (ranks_of_z << WORD) + _word(z, first)
        different = torch.unique(numbers)
        ranks = torch.searchsorted(different, numbers)
        ranks_of_z = torch.searchsorted(different, numbers_of_z)
    return ranks, ranks_of_z


def _word(z: torch.Tensor, first: int) -> torch.Tensor:
    """Return `[rows]`, the entries of `z [rows, n]` from one on as a number, lowest bit first."""
    entries = z[:, first : first + WORD].long()
    return (entries << torch.arange(entries.shape[-1], device=z.device)).sum(dim=-1)
