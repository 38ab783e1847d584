"""Finite scalar quantisation: each feature is rounded to one of a few levels."""

from __future__ import annotations

import math
from typing import Final

import torch

from ..states import of_variables
from .quantiser import Quantiser

SLACK: Final = 1e-3
"""Share by which the outermost levels can be overshot; without it two levels have no room."""


class FSQ(Quantiser):
    """Finite scalar quantisation (FSQ): `variables` features, each rounded to one of k levels.

    A feature f becomes b = h tanh(f + s) - o with h = (k - 1)(1 + 0.001) / 2, o = 1/2 for an even k
    and 0 for an odd one, and s = artanh(o / h), so that f = 0 gives b = 0. The code is the nearest
    integer, one of -floor(k/2), ..., ceil(k/2) - 1, and its vector is this integer over floor(k/2).
    There is no codebook to learn, and no loss beside the reconstruction.

    Args:
        variables: number of variables.
        k: number of levels of each.

    Raises:
        SettingError: a number is too small.

    Example:
        >>> quantiser = FSQ(variables=3, k=3)
        >>> quantiser.embed(quantiser.code(torch.tensor([[-2.0, 0.1, 2.0]])))
        tensor([[-1.,  0.,  1.]])

    References:
        Mentzer, Minnen, Agustsson, Tschannen (2023), Finite scalar quantization: VQ-VAE made
        simple, section 3.1 and appendix A.
    """

    def __init__(self, variables: int, k: int = 8):
        super().__init__(variables, k)

    def embed(self, z: torch.Tensor) -> torch.Tensor:
        """Return the level of each variable, from -1 to 1: `[..., variables]`."""
        return of_variables(z, self.variables) @ self._levels(z)

    def _levels(self, like: torch.Tensor) -> torch.Tensor:
        half = self.k // 2
        integers = torch.arange(-half, self.k - half, device=like.device, dtype=like.dtype)
        return integers / half

    def _bounded(self, features: torch.Tensor) -> torch.Tensor:
        half_range = (self.k - 1) * (1 + SLACK) / 2
        offset = 0.5
        if self.k % 2:
            offset = 0.0
        shift = math.atanh(offset / half_range)
        return (half_range * (features + shift).tanh() - offset) / (self.k // 2)

    def _scores(self, vectors: torch.Tensor) -> torch.Tensor:
        return -(vectors[..., None] - self._levels(vectors)).square().flatten(-2)
