"""K-means over a batch of vectors, which starts a codebook."""

from __future__ import annotations

from typing import Final

import torch
from torch.nn.functional import one_hot

ROUNDS: Final = 10
"""The number of rounds that assign all vectors to their nearest centre."""


def random_rows(rows: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return `count` rows of `rows [total, d]`, without replacement where there are enough."""
    if len(rows) >= count:
        order = torch.randperm(len(rows), generator=generator, device=rows.device)
        return rows[order[:count]]
    return rows[torch.randint(len(rows), (count,), generator=generator, device=rows.device)]


def k_means(rows: torch.Tensor, k: int, generator: torch.Generator) -> torch.Tensor:
    """Return k centres `[k, d]` of `rows [total, d]` by Lloyd's algorithm, from random rows.

    A centre without members stays where it is.

    Args:
        rows: the vectors.
        k: number of centres.
        generator: draws the first centres, on the device of the rows.

    References:
        Lloyd (1982), Least squares quantization in PCM.
    """
    centres = random_rows(rows, k, generator).clone()
    for _ in range(ROUNDS):
        members = one_hot(torch.cdist(rows, centres).argmin(dim=-1), k).to(rows.dtype)
        counts = members.sum(dim=0)[:, None]
        means = members.T @ rows / counts.clamp(min=1)
        centres = torch.where(counts > 0, means, centres)
    return centres
