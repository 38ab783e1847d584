"""Perturbations that turn an argmax into a sample: the one place that draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from models import AnyPotentials, CategoricalPotentials

Noise: TypeAlias = Callable[[AnyPotentials, torch.Generator, int], torch.Tensor]
"""(potentials, generator, samples) -> what is added to the unary scores, `[samples, batch, n]`."""


def gumbel(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent standard Gumbel variables, by inversion.

    Added to the scores of exclusive choices they make the argmax an exact sample: choice i has the
    probability exp(score[i]) / sum_j exp(score[j]).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    return -(-_uniform(like, generator).log()).log()


def gumbel_differences(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent differences of two standard Gumbel variables, that is logistic noise.

    Added to unary scores h_i(1) - h_i(0) it perturbs both values of every variable. Without
    pairwise scores the argmax is then an exact sample: P(z_i = 1) = sigmoid(unary[i]). Added to a -
    b it is positive with probability sigmoid(a - b).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    uniform = _uniform(like, generator)
    return uniform.log() - (-uniform).log1p()


def gaussian(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent standard normal variables.

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    return torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)


def unary_noise(
    potentials: AnyPotentials, generator: torch.Generator, samples: int = 1
) -> torch.Tensor:
    """`[samples, batch, n]`: noise for the unary scores, as the argmax of the potentials needs it."""
    like = potentials.unary.detach().expand(samples, *potentials.unary.shape)
    draw = gumbel if isinstance(potentials, CategoricalPotentials) else gumbel_differences
    return draw(like, generator)


def no_noise(
    potentials: AnyPotentials, generator: torch.Generator | None = None, samples: int = 1
) -> torch.Tensor:
    """`[samples, batch, n]`: zeros, where the argmax of the potentials themselves is meant."""
    return torch.zeros_like(potentials.unary).expand(samples, *potentials.unary.shape)


def _uniform(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """In the open interval (0, 1)."""
    uniform = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)
    limits = torch.finfo(like.dtype)
    return uniform.clamp_(min=limits.tiny, max=1 - limits.eps / 2)
