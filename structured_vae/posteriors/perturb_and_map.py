"""The distribution of an argmax under noise on the unary scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from models import AnyPotentials

from ..errors import ConfigError
from .argmax import AnySolver, perturb_and_map
from .kl import KL, kl_ceiling, kl_of_unary

MOST_CODED = 2**62
"""The place of a state among more does not fit a 64-bit code."""


@dataclass(frozen=True, eq=False)
class PerturbAndMAP:
    """z = argmax h(z) + gamma(z): easy to sample at any size, of unknown density.

    For variables without pairwise scores it is the Gibbs distribution.

    Attributes:
        potentials: h.
        solver: name or object of `solvers`; of pairs of categorical variables of `solvers.labels`.
        draws: samples of the method "histogram".
    """

    potentials: AnyPotentials
    solver: AnySolver = "auto"
    draws: int = 1000

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """`[samples, batch, n]`: independent draws.

        Raises:
            solvers.SolverError: the solver cannot take these potentials.
        """
        return perturb_and_map(self.potentials, self.solver, generator, samples)

    def kl(self, method: str = "histogram", generator: torch.Generator | None = None) -> KL:
        """KL(q || uniform) in nats, which is log(number of states) less the entropy of q.

        Args:
            method: "unary": exact for independent bits and categories, else the paper's number,
                which ignores the pairwise scores: not a bound. "ceiling": log(number of states),
                valid for every q. "histogram": the entropy of the frequencies of `draws` samples.
                It is a concave function of them, so in expectation it is at most the true entropy,
                and this KL is at least the true one: valid in expectation, and close where q has
                far fewer likely states than there are draws.
            generator: of the histogram's samples.

        Raises:
            ConfigError: there is no such method, or the histogram has no generator.
        """
        methods: dict[str, Callable[[], KL]] = {
            "ceiling": lambda: kl_ceiling(self.potentials),
            "unary": lambda: kl_of_unary(self.potentials),
            "histogram": lambda: self._histogram(generator),
        }
        if method not in methods:
            raise ConfigError(
                f"the KL of perturb-and-MAP has the methods {', '.join(methods)}; got '{method}'"
            )
        return methods[method]()

    def _histogram(self, generator: torch.Generator | None) -> KL:
        if generator is None:
            raise ConfigError("the method 'histogram' draws samples: pass a generator")
        return histogram_kl(self.potentials, self.sample(generator, self.draws))


def histogram_kl(potentials: AnyPotentials, z: torch.Tensor) -> KL:
    """KL(q || uniform) from the frequencies of samples `z [samples, batch, n]` of q; see `PerturbAndMAP.kl`."""
    if potentials.state_count <= MOST_CODED:
        codes = potentials.index(z)
    else:
        rows = z.reshape(-1, z.shape[-1])
        found = torch.unique(rows, dim=0, return_inverse=True)
        codes = found[1].reshape(z.shape[:-1])
    entropies = torch.stack([_entropy_of_frequencies(row) for row in codes.T])
    ceiling = kl_ceiling(potentials).value
    return KL(ceiling - entropies.to(ceiling), valid=True)


def _entropy_of_frequencies(codes: torch.Tensor) -> torch.Tensor:
    """Log M - sum_c (m_c / M) log m_c, for counts m_c that add up to M."""
    counts: torch.Tensor = torch.unique(codes, return_counts=True)[1].double()
    return math.log(len(codes)) - (counts * counts.log()).sum() / len(codes)
