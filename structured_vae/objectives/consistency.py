"""Decoded attributes are to be found again by the encoder: what makes a decoder show them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.func import functional_call

from models import AttributeVAE

from .label_losses import LabelLoss


def consistency_loss(
    vae: AttributeVAE,
    labels: torch.Tensor,
    label_loss: LabelLoss,
    seen: Callable[[torch.Tensor], torch.Tensor],
    generator: torch.Generator,
    step: int,
) -> torch.Tensor:
    """`[batch]`: loss(scores of decoded images, z), z being what they were decoded from, with persons of the prior.

    z are labels with one attribute of each switched, so that rare ones are trained as often as
    others, and nearly all combinations are those of faces. The gradient is the decoder's alone:
    were the encoder trained by it too, both could agree on a signal that no face has.

    Args:
        vae: whose decoder is trained.
        labels: `[batch, n]`, attributes of images.
        label_loss: of the scores.
        seen: what the encoder sees of decoded images; noise hides weak patterns from it.
        generator: of the persons, the switched attributes and the loss.
        step: of the training.

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
    """`[batch, n]`: states with one coordinate of each, drawn uniformly, from 0 to 1 or back.

    Example:
        >>> one_switched(torch.zeros(2, 3), torch.Generator().manual_seed(0)).sum(dim=1)
        tensor([1., 1.])
    """
    shape = (len(states), 1)
    which = torch.randint(states.shape[-1], shape, generator=generator, device=states.device)
    return states.scatter(1, which, 1 - states.gather(1, which))
