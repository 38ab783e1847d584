"""Perturbations that turn an argmax into a sample: the one place that draws them."""

from __future__ import annotations

import torch


def gumbel(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent standard Gumbel variables, by inversion.

    Added to the scores of exclusive choices they make the argmax an exact sample: choice i has the
    probability exp(score[i]) / sum_j exp(score[j]).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    return -(-uniform(like, generator).log()).log()


def gumbel_differences(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent differences of two standard Gumbel variables, that is logistic noise.

    Added to unary scores h_i(1) - h_i(0) it perturbs both values of every variable. Without
    pairwise scores the argmax is then an exact sample: P(z_i = 1) = sigmoid(unary[i]). Added to a -
    b it is positive with probability sigmoid(a - b).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    drawn = uniform(like, generator)
    return drawn.log() - (-drawn).log1p()


def gaussian(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent standard normal variables.

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    return torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)


def uniform(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent uniform variables in the open interval (0, 1).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    drawn = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)
    limits = torch.finfo(like.dtype)
    return drawn.clamp_(min=limits.tiny, max=1 - limits.eps / 2)
