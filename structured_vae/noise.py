"""Perturbations that turn an argmax into a sample."""

from __future__ import annotations

import torch


def gumbel_differences(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Independent differences of two standard Gumbel variables, that is logistic noise.

    Added to unary scores h_i(1) - h_i(0) it perturbs both values of every variable. Without pairwise
    scores the argmax is then an exact sample: P(z_i = 1) = sigmoid(unary[i]).

    Args:
        like: gives shape, type and device.
        generator: on the same device.
    """
    uniform = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)
    uniform.clamp_(min=torch.finfo(like.dtype).tiny)
    return uniform.log() - (-uniform).log1p()
