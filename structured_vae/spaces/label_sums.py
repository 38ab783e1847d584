"""The sums over the states of categorical variables with pairwise scores, in the layout of their potentials."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from models import CategoricalPotentials
from models.states import codes_of
from solvers import labels
from solvers.labels import LabelCompletions, LabelGibbs


@dataclass(frozen=True, eq=False)
class LabelSums:
    """What `solvers.Gibbs` is of bits, for variables of several values.

    Attributes:
        potentials: whose states these are, without gradient.
        found: log Z, marginals and samples of the same scores.
    """

    potentials: CategoricalPotentials
    found: LabelGibbs[torch.Tensor]

    @classmethod
    def of(cls, potentials: CategoricalPotentials) -> LabelSums:
        """The sums of potentials with pairwise scores.

        Raises:
            solvers.UnsupportedProblemError: too large a treewidth.
        """
        unary, edges = potentials.apart(potentials.unary), potentials.edges
        return cls(potentials, labels.gibbs(unary, potentials.tables(), edges=edges))

    @property
    def shape(self) -> tuple[int, int]:
        """Batch and variables."""
        return len(self.potentials.unary), self.potentials.variables

    @property
    def log_partition(self) -> torch.Tensor:
        """`[batch]`: log Z in nats."""
        return self.found.log_partition

    @property
    def unary_marginals(self) -> torch.Tensor:
        """`[batch, variables k]`: P(x_i = a)."""
        return self.found.unary_marginals.flatten(-2)

    @property
    def pairwise_marginals(self) -> torch.Tensor:
        """`[batch, e k k]`: P(x_i = a, x_j = b); or of Potts scores `[batch, e]`: P(x_i = x_j)."""
        return self._flat(self.found.pairwise_marginals)

    def covariance_product(
        self, unary: torch.Tensor, pairwise: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The derivative of both marginals along a direction, as of `solvers.Gibbs`."""
        h = self.potentials
        if pairwise is None:
            pairwise = torch.zeros_like(self.pairwise_marginals)
        tables = CategoricalPotentials(unary, pairwise, h.edges, h.variables).tables()
        ones, pairs = self.found.covariance_product(h.apart(unary), self._turned(tables))
        return self.flat(ones, pairs)

    def sample(self, uniforms: torch.Tensor) -> torch.Tensor:
        """`[samples, batch, variables k]`: independent states for uniform numbers `[samples, batch, variables]`."""
        return codes_of(self.found.sample(uniforms), self.potentials.k)

    def completions(self, uniforms: torch.Tensor, variables: torch.Tensor) -> LabelSumsCompletions:
        """Samples, and for some variables `[samples, batch, m]` of each the states with the other values."""
        return LabelSumsCompletions(self, self.found.completions(uniforms, variables))

    def flat(self, unary: torch.Tensor, tables: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gradients `[batch, variables, k]` and `[batch, e, k, k]` in the layout of the potentials."""
        return unary.flatten(-2), self._flat(tables)

    def _flat(self, tables: torch.Tensor) -> torch.Tensor:
        if self.potentials.potts:
            return tables.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return self._turned(tables).flatten(-3)

    def _turned(self, tables: torch.Tensor) -> torch.Tensor:
        """Tables whose rows are of an edge's lower variable as those of its first, and the other way."""
        edges = self.potentials.edges
        if edges is None:
            return tables
        first, second = edges.T
        return torch.where((first > second)[:, None, None], tables.transpose(-1, -2), tables)


@dataclass(frozen=True, eq=False)
class LabelSumsCompletions:
    """What `solvers.Completions` is of bits, for variables of several values.

    Attributes:
        sums: over all states.
        found: samples and their completions.
    """

    sums: LabelSums
    found: LabelCompletions[torch.Tensor]

    @property
    def samples(self) -> torch.Tensor:
        """`[samples, batch, variables]`: values."""
        return self.found.samples

    @property
    def completed(self) -> torch.Tensor:
        """`[samples, m, k - 1, batch, variables]`: values."""
        return self.found.completed

    @property
    def conditionals(self) -> torch.Tensor:
        """`[samples, batch, m, k]`: the probabilities of each value, given what the sample had drawn before."""
        return self.found.conditionals

    def derivative(
        self,
        costs: torch.Tensor,
        unary: torch.Tensor | None = None,
        pairwise: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """That of the sum of costs * conditionals and of a direction . marginals, as of `solvers.Completions`."""
        ones, pairs = self.sums.flat(*self.found.derivative(costs))
        if unary is None and pairwise is None:
            return ones, pairs
        along = torch.zeros_like(self.sums.unary_marginals) if unary is None else unary
        beside = self.sums.covariance_product(along, pairwise)
        return ones + beside[0], pairs + beside[1]
