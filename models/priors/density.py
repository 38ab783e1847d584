"""The base class of priors that are densities of continuous latent variables."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Final

import torch

from ..errors import SettingError
from ..shapes import Costs, Style
from .prior import LearntPrior

LOG_ROOT_TWO_PI: Final = math.log(2 * math.pi) / 2

LARGEST_LOG_SCALE: Final = 5.0
"""Networks give scales from exp(-5) to exp(5), so that no density grows without limit."""


class DensityPrior(LearntPrior):
    """A learnt density p(z) of n continuous latent variables.

    log p(z) is exact and differentiable in z, so that KL(q || p) to a Gaussian q is its exact
    negative entropy minus a mean of log p(z) over reparameterised samples.

    Args:
        n: number of variables.
        name: the name under which `DENSITY_PRIORS` makes such a prior.
    """

    def __init__(self, n: int, name: str):
        super().__init__()
        self.n = n
        self.name = name

    def check(self, n: int) -> None:
        """Raise unless the prior has n variables.

        Raises:
            SettingError: the prior has another number of variables.
        """
        if n != self.n:
            raise SettingError(
                f"the prior is of {self.n} continuous variables, and the encoder has n = {n}; they "
                "must agree"
            )

    @abstractmethod
    def log_prob(self, z: Style) -> Costs:
        """Return log p(z) `[...]` of codes `z [..., n]` in nats, differentiable also in z."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator) -> Style:
        """Return exact samples `[count, n]`, without gradient, as specified by `LearntPrior`."""


def bounded(log_scale: torch.Tensor) -> torch.Tensor:
    """Return log scales between plus and minus `LARGEST_LOG_SCALE`; small ones hardly change."""
    return LARGEST_LOG_SCALE * (log_scale / LARGEST_LOG_SCALE).tanh()


def log_normal(standardised: torch.Tensor) -> torch.Tensor:
    """Return log N(u; 0, 1) of each entry u."""
    return -standardised.square() / 2 - LOG_ROOT_TWO_PI
