"""Lookup-free quantisation: the sign of each feature is a bit."""

from __future__ import annotations

from typing import Final

import torch

from ..errors import SettingError
from .quantiser import Quantiser
from .soft_codes import soft_code_entropy

SHARPNESS: Final = 4.0
"""The logit of a soft bit over its feature f: (f + 1)^2 - (f - 1)^2 = 4 f."""


class LFQ(Quantiser):
    """Lookup-free quantisation (LFQ): bit i is one where feature i is positive.

    The vector of a code is 2z - 1. The probability q(z | f) of a soft code falls with the squared
    distance of f to it, as `exp(-|f - (2z - 1)|^2)`, so a soft bit has the logit 4 f. The training
    adds their mean entropy, less the entropy of their mean, and a commitment to the code.

    Args:
        variables: number of bits.
        tokens: number of parts of equal length that the bits have, such as places of an image. The
            entropy of the mean soft code is over the rows of all tokens together.

    Raises:
        SettingError: a number is too small, or the bits cannot be shared among the tokens.

    Example:
        >>> LFQ(variables=3).code(torch.tensor([[-2.0, 0.1, 2.0]]))
        tensor([[0., 1., 1.]])

    References:
        Yu, Lezama, Gundavarapu and others (2023), Language model beats diffusion: tokenizer is key
        to visual generation, section 3.1 and equation 5.
    """

    binary = True

    def __init__(self, variables: int, tokens: int = 1):
        super().__init__(variables, k=2)
        self.bits_of_token = bits_of_token(variables, tokens)

    def embed(self, z: torch.Tensor) -> torch.Tensor:
        """Return -1 for a zero and 1 for a one: `[..., n]`."""
        return 2 * z - 1

    def _scores(self, vectors: torch.Tensor) -> torch.Tensor:
        return SHARPNESS * vectors

    def _entropy(self, vectors: torch.Tensor) -> torch.Tensor:
        return soft_code_entropy(self._scores(vectors).reshape(-1, self.bits_of_token))


def bits_of_token(variables: int, tokens: int) -> int:
    """Return the number of bits of each token.

    Raises:
        SettingError: the bits cannot be shared among the tokens.
    """
    if tokens < 1 or variables % tokens:
        raise SettingError(
            f"{variables} bits cannot be shared equally among {tokens} tokens: n must be a "
            "multiple of tokens"
        )
    return variables // tokens
