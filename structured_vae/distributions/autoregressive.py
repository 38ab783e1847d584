"""The autoregressive distribution of bits: each bit given the bits before it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch.nn.functional import softplus

from models.host_edges import HostEdges
from models.potentials import AnyPotentials

from .kl import KL, kl_of_unary
from .sequential import SequentialBits


@dataclass(frozen=True, eq=False)
class Autoregressive(SequentialBits):
    """The distribution q(z) = prod_j q(z_j | z_1, ..., z_{j-1}) over n bits.

    The logit of bit j is unary[j] plus the sum of pairwise[e] z_i over the edges e = (i, j) with
    i < j. So the potentials of any encoder with pairwise scores make such a distribution, of any
    treewidth. Its density and its samples are exact. Its entropy is a mean over samples.

    Attributes:
        potentials: h, over all states of n bits; edges have i < j.

    Raises:
        ConfigError: h has categories, or a space of states.

    Example:
        >>> from models import Potentials
        >>> h = Potentials(torch.zeros(1, 2), torch.tensor([[1.0]]), torch.tensor([[0, 1]]))
        >>> Autoregressive(h).log_prob(torch.ones(1, 2)).exp()  # 1/2 sigmoid(1)
        tensor([0.3655])

    References:
        Frey, Hinton, Dayan (1996), Does the wake-sleep algorithm produce good density estimators?
        Gregor and others (2014), Deep autoregressive networks.
    """

    @staticmethod
    def why_not(potentials: AnyPotentials) -> tuple[str, ...]:
        """Return the reasons why potentials make no such distribution; empty where they do."""
        if reasons := SequentialBits.why_not(potentials):
            return reasons
        edges = potentials.edge_array()
        if edges is not None and (edges[:, 0] >= edges[:, 1]).any():
            return ("an autoregressive posterior needs edges (i, j) with i < j",)
        return ()

    def logits(self, z: torch.Tensor) -> torch.Tensor:
        """Return the logit `[..., batch, n]` of each bit, given the bits of z before it."""
        h = self.potentials
        logits = h.unary.expand(z.shape)
        if h.pairwise is None or h.edges is None:
            return logits
        earlier, later = h.edges.T
        terms = h.pairwise * z[..., earlier]
        return logits.index_add(-1, later, terms)

    def flip_log_ratios(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q(z with bit i flipped) - log q(z) `[..., batch, n]` of `z [..., batch, n]`.

        A flip changes its own conditional, and the logit of every later bit by one edge.
        """
        h = self.potentials
        logits = self.logits(z)
        ratios = (1 - 2 * z) * logits
        if h.pairwise is None or h.edges is None:
            return ratios
        earlier, later = h.edges.T
        before = logits[..., later]
        after = before + h.pairwise * (1 - 2 * z[..., earlier])
        # The term of a later bit is z logit - softplus(logit), after less before the flip.
        terms = z[..., later] * (after - before) - softplus(after) + softplus(before)
        return ratios.index_add(-1, earlier, terms)

    def logit(self, j: int, z: torch.Tensor) -> torch.Tensor:
        """Return the logit `[..., batch]` of bit j, from its edges alone."""
        places, earlier = self._incoming[j]
        logits = self.potentials.unary[:, j].expand(z.shape[:-1])
        if self.potentials.pairwise is None or not len(places):
            return logits
        weights = self.potentials.pairwise[:, places]
        return logits + (weights * z[..., earlier]).sum(dim=-1)

    def tightest_kl(self, z: torch.Tensor | None = None) -> KL:
        """Return the exact KL of independent bits; with pairwise scores as `SequentialBits` does.

        Args:
            z: `[samples, batch, n]`, samples of q; None for none.
        """
        if self.potentials.pairwise is None:
            return kl_of_unary(self.potentials)
        return super().tightest_kl(z)

    @cached_property
    def _incoming(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """For each bit the numbers of its edges from earlier bits, and these bits."""
        h = self.potentials
        edges = h.edges_on_host() or HostEdges(np.empty((0, 2)))
        return edges.recall(_incoming_edges, h.unary.shape[-1], h.unary.device)


def _incoming_edges(
    edges: np.ndarray, n: int, device: torch.device
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return for each bit the numbers of its edges from earlier bits, and these bits."""
    later = edges[:, 1]
    incoming = []
    for bit in range(n):
        places = np.flatnonzero(later == bit)
        earlier = edges[places, 0]
        incoming.append((torch.tensor(places, device=device), torch.tensor(earlier, device=device)))
    return incoming
