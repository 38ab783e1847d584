"""Vector quantisation: each vector of features is replaced by the nearest one of a codebook."""

from __future__ import annotations

from typing import Final

import torch

from ..states import of_variables
from .clusters import k_means, random_rows
from .quantiser import Quantiser

DECAY: Final = 0.99
"""Weight of the past in the averages that make the codebook."""

SMOOTHING: Final = 1e-5
"""Added to each count, so that a vector without members stays finite."""

DEAD: Final = 0.03
"""A vector is dead if it has fewer members than this share of an equal split."""


class VQ(Quantiser):
    """Vector quantisation (VQ): each variable is the nearest of k vectors, shared by all variables.

    The codebook is learnt by exponential moving averages: N_j <- g N_j + (1 - g) n_j of the number
    n_j of vectors that are nearest to vector j, and m_j <- g m_j + (1 - g) s_j of their sum s_j;
    vector j is m_j / N_j, with Laplace smoothing of N_j. The first batch of a training starts
    it by k-means. A vector whose average count falls below 3% of an equal split is dead; it is
    replaced by a random vector of the batch, with the count of an equal split.

    Counts and sums are buffers, which checkpoints hold, so a resumed training has the same
    codebook. If several processes train together, the codebook is that of the first one's images.

    Args:
        variables: number of vectors of an image.
        k: number of vectors in the codebook.
        dimensions: length of a vector.

    Raises:
        SettingError: a number is too small.

    Example:
        >>> quantiser = VQ(variables=2, k=4, dimensions=3)
        >>> quantiser.code(torch.zeros(1, 6)).shape
        torch.Size([1, 8])

    References:
        van den Oord, Vinyals, Kavukcuoglu (2017), Neural discrete representation learning, equation
        3 and appendix A.1. Dhariwal, Jun, Payne and others (2020), Jukebox, section 3, the revival
        of dead vectors.
    """

    shared = True
    codebook: torch.Tensor
    counts: torch.Tensor
    sums: torch.Tensor
    started: torch.Tensor

    def __init__(self, variables: int, k: int = 256, dimensions: int = 8):
        super().__init__(variables, k, dimensions)
        self.register_buffer("codebook", torch.randn(k, dimensions))
        self.register_buffer("counts", torch.zeros(k))
        self.register_buffer("sums", torch.zeros(k, dimensions))
        self.register_buffer("started", torch.tensor(False))

    def embed(self, z: torch.Tensor) -> torch.Tensor:
        """Return the vector of each variable, one after the other: `[..., features]`."""
        return (of_variables(z, self.variables) @ self.codebook).flatten(-2)

    def _scores(self, vectors: torch.Tensor) -> torch.Tensor:
        rows = vectors.reshape(-1, self.dimensions)
        # -|v - e|^2 = 2 v . e - |e|^2 - |v|^2
        products = rows @ self.codebook.T
        lengths = self.codebook.square().sum(dim=-1)
        scores = 2 * products - lengths - rows.square().sum(dim=-1, keepdim=True)
        return scores.reshape(*vectors.shape[:-1], self.n)

    @torch.no_grad()
    def _prepare(self, vectors: torch.Tensor, generator: torch.Generator) -> None:
        if self.started:
            return
        rows = vectors.reshape(-1, self.dimensions)
        self.codebook.copy_(k_means(rows, self.k, generator))
        self.counts.fill_(len(rows) / self.k)
        self.sums.copy_(self.codebook * self.counts[:, None])
        self.started.fill_(True)

    @torch.no_grad()
    def _learn(self, vectors: torch.Tensor, z: torch.Tensor, generator: torch.Generator) -> None:
        rows = vectors.reshape(-1, self.dimensions)
        members = z.reshape(-1, self.k)
        self.counts.lerp_(members.sum(dim=0), 1 - DECAY)
        self.sums.lerp_(members.T @ rows, 1 - DECAY)
        self._revive(rows, generator)
        # Laplace smoothing: (N_j + s) N / (N + k s), which leaves the total as it is.
        total = self.counts.sum()
        smoothed = (self.counts + SMOOTHING) * total / (total + self.k * SMOOTHING)
        self.codebook.copy_(self.sums / smoothed[:, None])

    def _revive(self, rows: torch.Tensor, generator: torch.Generator) -> None:
        """Put dead vectors of the codebook at random vectors of the batch."""
        equal = len(rows) / self.k
        dead = self.counts < DEAD * equal
        # Drawn in every step, so that the number of draws does not depend on the data.
        drawn = random_rows(rows, self.k, generator)
        self.sums.copy_(torch.where(dead[:, None], drawn * equal, self.sums))
        self.counts.masked_fill_(dead, equal)
