"""Judge decoded faces with another network, and measure its accuracy on real faces."""

from __future__ import annotations

from models import AttributeVAE

from ...data import ImageDataset
from ...evaluation.quantities import Quantity
from ...seeds import Stream, generator
from ...training.batches import InOrderBatches, batches
from ..kind import IMAGES_AT_ONCE
from .appearance import appearance, recognised
from .recogniser import recogniser
from .training import SWITCHED, combinations


def judged_faces(
    vae: AttributeVAE, dataset: ImageDataset, split: str, seed: int
) -> dict[str, Quantity]:
    """Train a network that recognises attributes, and apply it to real and to decoded faces.

    Args:
        vae: the VAE whose decoded faces are judged.
        dataset: real faces; the judge learns from their training split.
        split: the split of the real faces on which the judge is tested.
        seed: the seed of the judge and of the persons.
    """
    judge = recogniser(dataset, seed)
    places = {name: dataset.attributes.index(name) for name in SWITCHED}
    real = dataset.split(split)
    in_order = batches(real, InOrderBatches(len(real), IMAGES_AT_ONCE))
    states = combinations(vae.decoder.first.weight)
    persons = generator(seed, Stream.PICTURES)
    return {
        **recognised(judge.found, in_order, places),
        **appearance(vae, judge.found, states, places, persons),
    }
