"""Sum over the states of categorical variables with pairwise scores, in their layout."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from models import CategoricalPotentials
from models.states import codes_of
from solvers import labels
from solvers.labels.completions import LabelCompletions
from solvers.labels.gibbs_distribution import LabelGibbs


@dataclass(frozen=True, eq=False)
class LabelSums:
    """The sums over all states of variables of several values, as `solvers.gibbs` returns for bits.

    Attributes:
        potentials: the scores, without gradient.
        gibbs: log Z, marginals and samples of the same scores.
    """

    potentials: CategoricalPotentials
    gibbs: LabelGibbs[torch.Tensor]

    @classmethod
    def of(cls, potentials: CategoricalPotentials) -> LabelSums:
        """Return the sums of potentials with pairwise scores.

        Raises:
            solvers.UnsupportedProblemError: the treewidth is too large.
        """
        unary = potentials.apart(potentials.unary)
        gibbs = labels.gibbs(unary, potentials.tables(), edges=potentials.edge_array())
        return cls(potentials, gibbs)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of instances in the batch, and the number of variables."""
        return len(self.potentials.unary), self.potentials.variables

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` in nats."""
        return self.gibbs.log_partition

    @property
    def unary_marginals(self) -> torch.Tensor:
        """The probabilities `[batch, variables k]` that x_i = a."""
        return self.gibbs.unary_marginals.flatten(-2)

    @property
    def pairwise_marginals(self) -> torch.Tensor:
        """P(x_i = a, x_j = b) `[batch, e k k]`; for Potts scores P(x_i = x_j) `[batch, e]`."""
        return self._flat(self.gibbs.pairwise_marginals)

    def covariance_product(
        self, unary: torch.Tensor, pairwise: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the derivative of both marginals along a direction, as the sums over bits do.

        Args:
            unary: `[batch, variables k]`.
            pairwise: in the layout of `pairwise_marginals`; None for zeros.
        """
        h = self.potentials
        if pairwise is None:
            pairwise = torch.zeros_like(self.pairwise_marginals)
        tables = CategoricalPotentials(unary, pairwise, h.edges, h.variables).tables()
        ones, pairs = self.gibbs.covariance_product(h.apart(unary), self._turned(tables))
        return self.flat(ones, pairs)

    def sample(self, uniforms: torch.Tensor) -> torch.Tensor:
        """Return independent states `[samples, batch, variables k]` from uniform numbers.

        Args:
            uniforms: `[samples, batch, variables]`, in [0, 1).
        """
        return codes_of(self.gibbs.sample(uniforms), self.potentials.k)

    def completions(self, uniforms: torch.Tensor, variables: torch.Tensor) -> LabelSumsCompletions:
        """Return samples, each with the other values of some variables.

        Args:
            uniforms: `[samples, batch, variables]`, in [0, 1).
            variables: `[samples, batch, m]`, which to complete.
        """
        return LabelSumsCompletions(self, self.gibbs.completions(uniforms, variables))

    def flat(self, unary: torch.Tensor, tables: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return gradients in the layout of the potentials.

        Args:
            unary: `[batch, variables, k]`.
            tables: `[batch, e, k, k]`.
        """
        return unary.flatten(-2), self._flat(tables)

    def _flat(self, tables: torch.Tensor) -> torch.Tensor:
        if self.potentials.potts:
            return tables.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return self._turned(tables).flatten(-3)

    def _turned(self, tables: torch.Tensor) -> torch.Tensor:
        """Transpose the tables of edges whose first variable is not the lower one."""
        edges = self.potentials.edges
        if edges is None:
            return tables
        first, second = edges.T
        return torch.where((first > second)[:, None, None], tables.transpose(-1, -2), tables)


@dataclass(frozen=True, eq=False)
class LabelSumsCompletions:
    """The completions of variables of several values, as `solvers` has them for bits.

    Attributes:
        sums: over all states.
        labels: samples and their completions, as values.
    """

    sums: LabelSums
    labels: LabelCompletions[torch.Tensor]

    @property
    def samples(self) -> torch.Tensor:
        """The values of the samples, `[samples, batch, variables]`."""
        return self.labels.samples

    @property
    def completed(self) -> torch.Tensor:
        """The values of the completions, `[samples, m, k - 1, batch, variables]`."""
        return self.labels.completed

    @property
    def conditionals(self) -> torch.Tensor:
        """The probability of each value after those drawn before it, `[samples, batch, m, k]`."""
        return self.labels.conditionals

    def derivative(
        self,
        costs: torch.Tensor,
        unary: torch.Tensor | None = None,
        pairwise: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradients of costs . conditionals + direction . marginals in both scores.

        Args:
            costs: `[samples, batch, m, k]`.
            unary: `[batch, variables k]`, the direction; None for zeros.
            pairwise: in the layout of `LabelSums.pairwise_marginals`; None for zeros.
        """
        ones, pairs = self.sums.flat(*self.labels.derivative(costs))
        if unary is None and pairwise is None:
            return ones, pairs
        if unary is None:
            unary = torch.zeros_like(self.sums.unary_marginals)
        more_ones, more_pairs = self.sums.covariance_product(unary, pairwise)
        return ones + more_ones, pairs + more_pairs
