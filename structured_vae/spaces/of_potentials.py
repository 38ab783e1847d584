"""The space that potentials belong to, and the noise that suits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, cast

import torch

from models import CategoricalPotentials
from models.potentials import AnyPotentials

from .bits import Bits
from .categories import Categories
from .space import StateSpace, as_space

Noise: TypeAlias = Callable[[AnyPotentials, torch.Generator, int], torch.Tensor]
"""(potentials, generator, samples) -> what is added to the unary scores, `[samples, batch, n]`."""

FREE: Final[dict[str, Callable[[AnyPotentials], StateSpace]]] = {
    "bits": lambda potentials: Bits(),
    "categories": lambda potentials: Categories(
        cast("CategoricalPotentials", potentials).variables
    ),
}
"""The space of all states of potentials that name no other, by their `free_space`."""


def space_of(potentials: AnyPotentials) -> StateSpace:
    """Return the space of the states that potentials score."""
    if potentials.space is None:
        return FREE[potentials.free_space](potentials)
    return as_space(cast("StateSpace", potentials.space))


def unary_noise(
    potentials: AnyPotentials, generator: torch.Generator, samples: int = 1
) -> torch.Tensor:
    """Return noise `[samples, batch, n]` for unary scores that turns an argmax into samples."""
    like = potentials.unary.detach().expand(samples, *potentials.unary.shape)
    return space_of(potentials).noise(like, generator)


def no_noise(
    potentials: AnyPotentials, generator: torch.Generator | None = None, samples: int = 1
) -> torch.Tensor:
    """Return zeros `[samples, batch, n]` in place of noise, for the argmax of the potentials."""
    return torch.zeros_like(potentials.unary).expand(samples, *potentials.unary.shape)
