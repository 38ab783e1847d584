"""The encoder of bits whose argmax is a minimum cut."""

from typing import ClassVar, Final, cast

import torch
from torch import nn

from .encoder import Encoder

WEAK: Final = -3.0
"""The initial output for a pairwise score: softplus(-3) = 0.05."""


class SupermodularEncoder(Encoder):
    """An encoder with pairwise scores >= 0, by softplus: its argmax is a minimum cut.

    The scores start small. With softplus(0) = 0.69 for each of n - 1 pairs all variables would
    start as ones for every image, and only large steps of epsilon would move them.
    """

    has_pairs: ClassVar[bool] = True
    nonnegative_pairs: ClassVar[bool] = True

    def __init__(self, pixels: int, n: int, hidden: int = 300, bandwidth: int = 0):
        super().__init__(pixels, n, hidden, bandwidth)
        last = cast("nn.Linear", self.network[-1])
        nn.init.constant_(last.bias[n:], WEAK)

    def pair_scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return softplus of the outputs `[batch, e]`."""
        return nn.functional.softplus(outputs)
