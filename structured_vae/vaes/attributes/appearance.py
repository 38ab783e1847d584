"""Measure with another network whether decoded faces show the attributes they were decoded with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import torch

from models import AttributeVAE

from ...evaluation.quantities import Quantity, average

PERSONS: Final = 100
"""The number of persons drawn from the prior; each is decoded under every state."""


@torch.no_grad()
def appearance(
    vae: AttributeVAE,
    recognise: Callable[[torch.Tensor], torch.Tensor],
    states: torch.Tensor,
    switched: Mapping[str, int],
    generator: torch.Generator,
    persons: int = PERSONS,
) -> dict[str, Quantity]:
    """Return how often decoded faces show their attributes, and how much a switch changes a face.

    For each switched attribute, `appears_NAME` is the share of decoded faces that show its decoded
    value; 0.5 is chance. `change_NAME` is the mean absolute change of an intensity in [0, 1] when
    the attribute is switched. `change_person` is the same change from one person to the next.

    Args:
        vae: the VAE whose decoder is tested.
        recognise: maps faces `[batch, pixels]` to the attributes `[batch, n]` that they show.
        states: `[states, n]`, every combination of the switched attributes.
        switched: the index of each switched attribute among the n, by name.
        generator: draws the persons.
        persons: the number of persons; averages and standard errors are over them.
    """
    faces = [vae.decoded(person[None], states) for person in vae.persons(persons, generator)]
    seen = torch.stack([recognise(images) for images in faces])
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
    squares = float((away * (away + 2 * away.roll(1))).sum())  # neighbours share a person
    error = math.sqrt(max(squares, 0.0)) / len(apart)
    meaning = "mean change of an intensity to another person"
    return quantities | {"change_person": Quantity(float(apart.mean()), error, "sampled", meaning)}


@torch.no_grad()
def recognised(
    recognise: Callable[[torch.Tensor], torch.Tensor],
    image_batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    switched: Mapping[str, int],
) -> dict[str, Quantity]:
    """Return `recognised_NAME`, how often the other network is right about real faces.

    Args:
        recognise: maps faces `[batch, pixels]` to the attributes `[batch, n]` that they show.
        image_batches: batches `(images [batch, pixels], attributes [batch, n])`.
        switched: the index of each requested attribute among the n, by name.
    """
    right = torch.cat([(recognise(x) == labels).double() for x, labels in image_batches])
    return {
        f"recognised_{name}": average(
            right[:, place], "exact", "share of faces of which that network knows it"
        )
        for name, place in switched.items()
    }
