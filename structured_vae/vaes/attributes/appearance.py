"""Whether decoded faces show the attributes that they were decoded with, as another network sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import torch

from models import AttributeVAE

from ...evaluation.quantities import Quantity, average

PERSONS: Final = 100
"""Of the prior, each under every state."""


@torch.no_grad()
def appearance(
    vae: AttributeVAE,
    found: Callable[[torch.Tensor], torch.Tensor],
    states: torch.Tensor,
    switched: Mapping[str, int],
    generator: torch.Generator,
    persons: int = PERSONS,
) -> dict[str, Quantity]:
    """How often attributes are found in decoded faces, and how much their switches change these.

    For each switched attribute `appears_NAME`, the share of decoded faces in which it is found as
    it was decoded, 0.5 being chance, and `change_NAME`, the mean absolute change of an intensity in
    [0, 1] by its switch; and `change_person`, that from one person to the next.

    Args:
        vae: whose decoder is asked.
        found: attributes `[batch, n]` that faces `[batch, pixels]` have.
        states: `[states, n]`, every combination of the switched attributes.
        switched: place of each switched attribute among the n, by name.
        generator: of the persons.
        persons: how many; averages and standard errors are over them.
    """
    faces = [vae.decoded(person[None], states) for person in vae.persons(persons, generator)]
    seen = torch.stack([found(each) for each in faces])
    right = (seen == states).double()
    shown = torch.stack(faces)
    quantities = {}
    for name, place in switched.items():
        off = states[:, place] == 0
        other = states.clone()
        other[:, place] = 1 - other[:, place]
        partners = (other[off, None] == states).all(dim=-1).long().argmax(dim=-1)
        change = (shown[:, partners] - shown[:, off]).abs().double().mean(dim=(1, 2))
        quantities[f"appears_{name}"] = average(
            right[..., place].mean(dim=1),
            "sampled",
            "share of decoded faces in which another network finds it",
        )
        quantities[f"change_{name}"] = average(
            change, "sampled", "mean change of an intensity by its switch"
        )
    apart = (shown - shown.roll(1, dims=0)).abs().double().mean(dim=(1, 2))
    away = apart - apart.mean()
    squares = float((away * (away + 2 * away.roll(1))).sum())  # two neighbours share a person
    error = math.sqrt(max(squares, 0.0)) / len(apart)
    meaning = "mean change of an intensity to another person"
    return quantities | {"change_person": Quantity(float(apart.mean()), error, "sampled", meaning)}


@torch.no_grad()
def recognised(
    found: Callable[[torch.Tensor], torch.Tensor],
    image_batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    switched: Mapping[str, int],
) -> dict[str, Quantity]:
    """`recognised_NAME`: how often that network is right about real faces.

    Args:
        found: attributes `[batch, n]` that faces `[batch, pixels]` have.
        image_batches: `(images [batch, pixels], attributes [batch, n])` each.
        switched: place of each attribute that is asked for among the n, by name.
    """
    right = torch.cat([(found(x) == labels).double() for x, labels in image_batches])
    return {
        f"recognised_{name}": average(
            right[:, place], "exact", "share of faces of which that network knows it"
        )
        for name, place in switched.items()
    }
