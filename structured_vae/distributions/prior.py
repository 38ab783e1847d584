"""The excess that a learnt prior adds to costs and KLs of the uniform prior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
import torch

from models import DiscreteVAE, Potentials
from models.potentials import AnyPotentials
from models.priors import LearntPrior

from ..errors import ConfigError
from ..spaces import Bits, Categories, StateSpace, space_of
from .distribution import Distribution
from .gibbs import Gibbs
from .kl import kl_ceiling


class PriorExcess(ABC):
    """The excess log u(z) - log p(z) of a prior p over the uniform prior u, in nats.

    KL(q || p) = KL(q || u) + E_q[log u - log p]. So a bound on -log p(x) with the uniform prior
    becomes a bound with p. The excess is differentiable in the prior.
    """

    @property
    @abstractmethod
    def has_sums(self) -> bool:
        """Whether `expected` is known; else an expectation takes samples."""

    @abstractmethod
    def at(self, z: torch.Tensor) -> torch.Tensor:
        """Return the excess `[..., batch]` at states `z [..., batch, n]`.

        Raises:
            solvers.UnsupportedProblemError: the prior's log Z is out of reach.
        """

    @abstractmethod
    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the excess `[1, states]` at each of `states [states, n]`.

        Raises:
            solvers.UnsupportedProblemError: as for `at`.
        """

    @abstractmethod
    def slope(self, z: torch.Tensor) -> torch.Tensor:
        """Return the change `[..., batch, n]` of the excess by z_i = 1 in place of 0, detached."""

    @abstractmethod
    def expected(self, q: Distribution) -> torch.Tensor:
        """Return the exact expectation `[batch]` of the excess under q.

        Raises:
            ConfigError: `has_sums` is false.
            solvers.UnsupportedProblemError: as for `at`, or q's sums are out of reach.
        """

    def mean(self, q: Distribution, z: torch.Tensor) -> torch.Tensor:
        """Return the expectation `[batch]`: exact where it is known, else over samples.

        Args:
            q: the distribution.
            z: `[samples, batch, n]`, samples of q.

        Raises:
            solvers.UnsupportedProblemError: as for `expected`.
        """
        if self.has_sums and q.tractable:
            return self.expected(q)
        return self.at(z).mean(dim=0)

    @abstractmethod
    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log p(z) `[..., batch]` of states `z [..., batch, n]` in nats.

        Raises:
            solvers.UnsupportedProblemError: as for `at`.
        """

    @abstractmethod
    def sample(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return exact samples `[count, n]` of the prior, without gradient.

        Raises:
            solvers.UnsupportedProblemError: as for `at`.
        """


@dataclass(frozen=True, eq=False)
class GibbsExcess(PriorExcess):
    """The excess of a Gibbs distribution as the prior.

    Attributes:
        potentials: the scores of the prior, one row for all images.
    """

    potentials: AnyPotentials

    @property
    def has_sums(self) -> bool:
        """Whether `expected` is known: True."""
        return True

    def at(self, z: torch.Tensor) -> torch.Tensor:
        """Return the excess `[..., batch]`, as specified by `PriorExcess`."""
        return self._constant - self.potentials.score(z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the excess `[1, states]`, as specified by `PriorExcess`."""
        return self._constant[:, None] - self.potentials.table(states)

    def slope(self, z: torch.Tensor) -> torch.Tensor:
        """Return the change `[..., batch, n]`, as specified by `PriorExcess`."""
        return -self.potentials.detach().field(z)

    def expected(self, q: Distribution) -> torch.Tensor:
        """Return the expectation `[batch]`, as specified by `PriorExcess`."""
        ones, pairs = moments(q, self.potentials)
        mean = (self.potentials.unary * ones).sum(dim=-1)
        if self.potentials.pairwise is not None and pairs is not None:
            mean = mean + (self.potentials.pairwise * pairs).sum(dim=-1)
        return self._constant - mean

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log p(z) `[..., batch]`, as specified by `PriorExcess`."""
        return self._distribution.log_prob(z)

    def sample(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return samples `[count, n]`, as specified by `PriorExcess`."""
        return self._distribution.sample(generator, count)[:, 0]

    @cached_property
    def _distribution(self) -> Gibbs:
        """The prior p as a distribution."""
        return Gibbs(self.potentials)

    @property
    def _constant(self) -> torch.Tensor:
        return self._distribution.log_partition - kl_ceiling(self.potentials).value


@dataclass(frozen=True, eq=False)
class DensityExcess(PriorExcess):
    """The excess of a prior of which the density of single states is known, and no sums.

    Attributes:
        prior: the prior, such as an autoregressive one.
        space: the space of its states.
        log_count: the logarithm of the number of states.
    """

    prior: LearntPrior
    space: StateSpace
    log_count: float

    @property
    def has_sums(self) -> bool:
        """Whether `expected` is known: False."""
        return False

    def at(self, z: torch.Tensor) -> torch.Tensor:
        """Return the excess `[..., batch]`, as specified by `PriorExcess`."""
        return -self.log_count - self.prior.log_prob(z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the excess `[1, states]`, as specified by `PriorExcess`."""
        return self.at(states)[None]

    @torch.no_grad()
    def slope(self, z: torch.Tensor) -> torch.Tensor:
        """Return the change `[..., batch, n]`, by the density of all neighbours of z."""
        at_z = self.at(z)
        others = self.at(self.space.neighbours(z).movedim(-2, 0)).movedim(0, -1)
        changes = others - at_z[..., None]
        if self.space.free_flips:
            return changes * (1 - 2 * z)
        return changes

    def expected(self, q: Distribution) -> torch.Tensor:
        """Refuse: no sum over all states is known.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            f"the prior {self.prior.name} has the density of single states and no sums: take the "
            "mean over samples, PriorExcess.mean"
        )

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log p(z) `[..., batch]`, as specified by `PriorExcess`."""
        return self.prior.log_prob(z)

    def sample(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return samples `[count, n]`, as specified by `PriorExcess`."""
        return self.prior.sample(count, generator)


def excess_of(vae: DiscreteVAE) -> PriorExcess | None:
    """Return the excess of the model's prior; None for the uniform one."""
    if vae.prior is None:
        return None
    return vae.prior.described(
        of_potentials=lambda scores: GibbsExcess(replace(scores, space=vae.space)),
        of_density=lambda prior: _excess_of_density(prior, vae),
    )


def check_states(vae: DiscreteVAE, potentials: AnyPotentials) -> None:
    """Raise unless potentials are of the states over which the prior of a model is.

    Args:
        vae: the model.
        potentials: those of a posterior.

    Raises:
        ConfigError: they are of other states, so that no KL of the posterior to the prior is known.
    """
    space = space_of(potentials)
    expected = space_of(replace(potentials, space=vae.space))
    if space != expected:
        raise ConfigError(
            f"the posterior is over {space!r}, and the prior over {expected!r}: make the model "
            "over one space, DiscreteVAE(..., space=...)"
        )


def _excess_of_density(prior: LearntPrior, vae: DiscreteVAE) -> PriorExcess:
    vae.check_prior()  # a density over all states is none over a space
    if not vae.categorical:
        return DensityExcess(prior, Bits(), vae.n * math.log(2))
    values = vae.n // vae.variables
    return DensityExcess(prior, Categories(vae.variables), vae.variables * math.log(values))


def moments(q: Distribution, other: AnyPotentials) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the probabilities under q that variables, and pairs of other potentials, are one.

    Args:
        q: the distribution.
        other: the potentials whose edges the pairs are.

    Returns:
        P(z_i = 1) `[batch, n]` and P(z_i = z_j = 1) `[batch, e]`; None without edges.
    """
    h = q.potentials
    edges = other.edges
    asked = other.edge_array()
    if edges is None or asked is None:
        return q.marginals[0], None
    scored = h.edge_array()
    if h.pairwise is None or scored is None:
        ones, _ = q.marginals
        # Without pairs of its own, q has independent variables.
        return ones, ones[:, edges[:, 0]] * ones[:, edges[:, 1]]
    if not np.array_equal(scored, asked):
        # Edges of score zero do not change q, but its
        # sums then include the pairs that are asked for.
        h, places = _with_edges(cast("Potentials", h), edges)
        ones, pairs = Gibbs(h).marginals
        if pairs is None:
            return ones, None
        return ones, pairs[:, places]
    return q.marginals


def _with_edges(h: Potentials, edges: torch.Tensor) -> tuple[Potentials, torch.Tensor]:
    """Return h with zero scores for the edges that it lacks, and the places of `edges` in it.

    An edge is the same in both directions; those of the result have i < j.
    """
    present = h.edges
    if present is None:
        present = edges[:0]
    upward = torch.cat([present, edges]).sort(dim=1).values
    joined, places = torch.unique(upward, dim=0, return_inverse=True)
    count = len(present)
    pairwise = h.unary.new_zeros(len(h.unary), len(joined))
    if h.pairwise is not None:
        pairwise = pairwise.index_add(1, places[:count], h.pairwise)
    return Potentials(h.unary, pairwise, joined), places[count:]
