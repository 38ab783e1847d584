"""The distribution of an argmax under noise on the unary scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import torch

from models.arguments import of_kind, whole_number
from models.potentials import AnyPotentials
from models.states import state_index

from ..errors import ConfigError
from ..spaces import StateSpace, space_of
from ..spaces.completions import Completions
from .argmax import POTENTIALS, AnySolver, checked_solver, perturb_and_map
from .distribution import Moments
from .gibbs import Gibbs
from .kl import KL, kl_ceiling, kl_of_unary

CODED_BITS: Final = 62
"""Most bits of a state that has a code, a number of 64 bits."""


@dataclass(frozen=True, eq=False)
class PerturbAndMAP:
    """The distribution of the best state under noisy scores, z = argmax h(z) + gamma(z).

    Its density is unknown where variables depend on each other. For independent variables it is
    the Gibbs distribution, whose sums it then has.

    Attributes:
        potentials: h.
        solver: name or object of `solvers`; of `solvers.labels` for pairs of categorical variables.
        draws: number of samples of the method "histogram".

    Raises:
        ConfigError: `potentials` are none, or `draws` is not a whole number of at least 1.
        solvers.UnknownSolverError: there is no such solver.
    """

    potentials: AnyPotentials
    solver: AnySolver = "auto"
    draws: int = 1000

    def __post_init__(self) -> None:
        of_kind(self.potentials, "potentials", ConfigError, AnyPotentials, POTENTIALS)
        checked_solver(self.solver)
        whole_number(self.draws, "draws", ConfigError)

    @staticmethod
    def why_not(potentials: AnyPotentials) -> tuple[str, ...]:
        """Return no reasons: every space has an argmax."""
        return ()

    @property
    def space(self) -> StateSpace:
        """The set of states."""
        return space_of(self.potentials)

    @property
    def tractable(self) -> bool:
        """Whether the variables are independent, so that the density is known."""
        return self.space.independent and self.potentials.pairwise is None

    @property
    def has_density(self) -> bool:
        """Whether the density is known: where the variables are independent."""
        return self.tractable

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` of independent variables, in nats.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.log_partition

    @property
    def marginals(self) -> Moments:
        """The probabilities that independent variables are one.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.marginals

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states `z [..., batch, n]` of independent variables.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.log_prob(z)

    def log_prob_of_all(self, states: torch.Tensor) -> torch.Tensor:
        """Return log q `[batch, count]` of all `states [count, n]` of independent variables.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.log_prob_of_all(states)

    def score(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of independent variables, up to log Z.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.score(z)

    def flip_log_ratios(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q(z with bit i flipped) - log q(z) `[..., batch, n]` of independent bits.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.flip_log_ratios(z)

    def entropy(self) -> torch.Tensor:
        """Return the entropy `[batch]` of independent variables, in nats.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.entropy()

    def sample_distinct(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return states `[count, batch, n]` of independent variables without replacement.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.sample_distinct(generator, count)

    def completions(
        self, generator: torch.Generator, samples: int = 1, count: int | None = None
    ) -> Completions:
        """Return samples of independent variables, each with other values of single variables.

        Raises:
            ConfigError: the variables depend on each other.
        """
        return self._gibbs.completions(generator, samples, count)

    @cached_property
    def _gibbs(self) -> Gibbs:
        """The Gibbs distribution of the same scores, for independent variables."""
        if not self.tractable:
            raise ConfigError(
                "the density of an argmax under noise is not known where variables depend on each "
                "other: draw samples, or take Gibbs(potentials), another distribution of the same "
                "scores"
            )
        return Gibbs(self.potentials)

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return independent samples `[samples, batch, n]`.

        Raises:
            solvers.SolverError: the solver cannot take these potentials.
        """
        return perturb_and_map(self.potentials, self.solver, generator, samples)

    def kl(self, method: str = "histogram", generator: torch.Generator | None = None) -> KL:
        """Return KL(q || uniform) in nats, which is log(number of states) less the entropy of q.

        Args:
            method: "unary": exact for independent bits and categories, else the paper's number,
                which ignores the pairwise scores: not a bound. "ceiling": log(number of states),
                valid for every q. "histogram": the entropy of the frequencies of `draws` samples.
                It is a concave function of them, so in expectation it is at most the true entropy,
                and this KL is at least the true one: valid in expectation, and close where q has
                far fewer likely states than there are draws.
            generator: draws the samples of the histogram.

        Raises:
            ConfigError: the method has another name, or the histogram has no generator.
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

    def tightest_kl(self, z: torch.Tensor | None = None) -> KL:
        """Return the exact KL of independent variables, else log of the number of states.

        Args:
            z: not used: samples of coupled variables have no known density.
        """
        if self.tractable:
            return self._gibbs.kl()
        return kl_ceiling(self.potentials)

    def _histogram(self, generator: torch.Generator | None) -> KL:
        if generator is None:
            raise ConfigError("the method 'histogram' draws samples: pass a generator")
        return histogram_kl(self.potentials, self.sample(generator, self.draws))


def histogram_kl(potentials: AnyPotentials, z: torch.Tensor) -> KL:
    """Return KL(q || uniform) from the frequencies of samples `z [samples, batch, n]` of q.

    It is the method "histogram" of `PerturbAndMAP.kl`.
    """
    # States of few bits are numbers; longer ones are numbered in the order of `unique`.
    if z.shape[-1] <= CODED_BITS:
        codes = state_index(z)
    else:
        rows = z.reshape(-1, z.shape[-1])
        numbered = torch.unique(rows, dim=0, return_inverse=True)
        codes = numbered[1].reshape(z.shape[:-1])
    entropies = z.new_zeros(codes.shape[1], dtype=torch.float64)
    for image, row in enumerate(codes.T):
        entropies[image] = _entropy_of_frequencies(row)
    ceiling = kl_ceiling(potentials).value
    return KL(ceiling - entropies.to(ceiling), "bound")


def _entropy_of_frequencies(codes: torch.Tensor) -> torch.Tensor:
    """Return log M - sum_c (m_c / M) log m_c, for counts m_c that add up to M."""
    counts: torch.Tensor = torch.unique(codes, return_counts=True)[1].double()
    return math.log(len(codes)) - (counts * counts.log()).sum() / len(codes)
