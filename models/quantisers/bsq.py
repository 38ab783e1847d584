"""Binary spherical quantisation: the signs of a vector on the unit sphere are bits."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch.nn.functional import normalize

from .lfq import bits_of_token
from .quantiser import Quantiser
from .soft_codes import soft_code_entropy

SHARPNESS: Final = 4.0
"""The logit of a soft bit whose feature is that of its vector, as in LFQ."""


class BSQ(Quantiser):
    """Binary spherical quantisation (BSQ): the L features of a token, on the unit sphere, to signs.

    The features v become `u = v / |v|`, bit i is one where u_i is positive, and the vector of a
    code is (2z - 1) / sqrt(L), which lies on the sphere too. Its distance from u is at most
    sqrt(2 - 2 / sqrt(L)), so no commitment is needed. Soft codes have q(z | u) proportional to
    exp(t u . (2z - 1) / sqrt(L)), so a soft bit has the logit 2 t u_i / sqrt(L). We take t = 2 L,
    with which the logit of a bit is 4 at u_i = 1 / sqrt(L), whatever L is.

    Args:
        variables: number of bits.
        tokens: number of spheres, such as places of an image, among which the bits are shared.

    Raises:
        SettingError: a number is too small, or the bits cannot be shared among the tokens.

    Example:
        >>> quantiser = BSQ(variables=4)
        >>> quantiser.embed(quantiser.code(torch.tensor([[-2.0, 0.1, 2.0, 0.0]])))
        tensor([[-0.5000,  0.5000,  0.5000, -0.5000]])

    References:
        Zhao, Xiong, Krähenbühl (2024), Image and video tokenization with binary spherical
        quantization, section 4.
    """

    binary = True

    def __init__(self, variables: int, tokens: int = 1):
        super().__init__(variables, k=2)
        self.bits_of_token = bits_of_token(variables, tokens)

    def embed(self, z: torch.Tensor) -> torch.Tensor:
        """Return signs over the square root of their number in a token: `[..., n]`."""
        return (2 * z - 1) / math.sqrt(self.bits_of_token)

    def _bounded(self, features: torch.Tensor) -> torch.Tensor:
        tokens = features.reshape(*features.shape[:-1], -1, self.bits_of_token)
        return normalize(tokens, dim=-1).flatten(-2)

    def _scores(self, vectors: torch.Tensor) -> torch.Tensor:
        return SHARPNESS * math.sqrt(self.bits_of_token) * vectors

    def _entropy(self, vectors: torch.Tensor) -> torch.Tensor:
        return soft_code_entropy(self._scores(vectors).reshape(-1, self.bits_of_token))
