"""The consistency loss: the encoder should recognise the attributes of decoded images."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.func import functional_call

from models import AttributeVAE

from ..noise import random_numbers
from .label_losses import LabelLoss


def consistency_loss(
    vae: AttributeVAE,
    labels: torch.Tensor,
    label_loss: LabelLoss,
    seen: Callable[[torch.Tensor], torch.Tensor],
    generator: torch.Generator,
    step: int,
) -> torch.Tensor:
    """Return the loss `[batch]` of the encoder's scores of decoded images, for their attributes.

    Images are decoded from attributes and from persons of the prior. The attributes are labels with
    one attribute of each image switched. So rare attributes are trained as often as others, and
    nearly all combinations are those of faces. Only the decoder gets a gradient: if the encoder
    were trained by this loss too, both could agree on a signal that no face has.

    Args:
        vae: the VAE whose decoder is trained.
        labels: `[batch, n]`, attributes of images.
        label_loss: the loss of the scores.
        seen: changes decoded images before the encoder sees them; noise hides weak patterns.
        generator: draws the persons, the switched attributes and the noise of the loss.
        step: the training step.

    References:
        Hu, Yang, Liang, Salakhutdinov, Xing (2017), Toward controlled generation of text: a
        classifier's loss of what was generated, as the generator's.
    """
    persons = vae.persons(len(labels), generator)
    states = one_switched(labels.to(persons.dtype), generator)
    images = vae.decoder(states, persons + vae.decoder.prior(states))
    fixed = {name: weight.detach() for name, weight in vae.encoder.named_parameters()}
    scores, _ = functional_call(vae.encoder, fixed, (seen(images),))
    return label_loss(scores, states, generator, step)


def one_switched(states: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return states `[batch, n]` with one bit of each, drawn uniformly, flipped.

    Example:
        >>> one_switched(torch.zeros(2, 3), torch.Generator().manual_seed(0)).sum(dim=1)
        tensor([1., 1.])
    """
    shape = (len(states), 1)
    which = random_numbers(
        torch.randint, states.shape[-1], shape, generator=generator, device=states.device
    )
    return states.scatter(1, which, 1 - states.gather(1, which))
