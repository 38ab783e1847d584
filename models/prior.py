"""Priors over latent states that are learnt with the networks; without one the prior is uniform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import torch
from torch import nn

from .errors import SettingError
from .potentials import AnyPotentials, CategoricalPotentials, Potentials
from .shapes import Binary, Edges
from .states import drawn_places


class BitsPrior(nn.Module):
    """p(z) = exp(h(z)) / Z over n bits, h having a score for each bit and for each edge; it starts uniform.

    log Z and exact draws are those of `structured_vae.Gibbs(prior.potentials())`: over all states
    up to 20 bits, or by elimination where the treewidth is small.

    Args:
        n: bits.
        edges: `[e, 2]`, i < j, the pairs that have a score; none for a factorised prior.

    Example:
        >>> gibbs_prior(3).potentials().pairwise.shape
        torch.Size([1, 3])
    """

    edges: torch.Tensor

    def __init__(self, n: int, edges: Edges | None = None):
        super().__init__()
        edges = torch.empty((0, 2), dtype=torch.long) if edges is None else edges
        self.unary = nn.Parameter(torch.zeros(n))
        self.pairwise = nn.Parameter(torch.zeros(len(edges))) if len(edges) else None
        self.register_buffer("edges", edges, persistent=False)

    def potentials(self) -> Potentials:
        """The scores, for one row that is every image's."""
        if self.pairwise is None:
            return Potentials(self.unary[None])
        return Potentials(self.unary[None], self.pairwise[None], self.edges)


class CategoriesPrior(nn.Module):
    """p(z) = softmax(unary) over k categories; it starts uniform.

    Args:
        k: categories.
    """

    def __init__(self, k: int):
        super().__init__()
        self.unary = nn.Parameter(torch.zeros(k))

    def potentials(self) -> CategoricalPotentials:
        """The logits, for one row that is every image's."""
        return CategoricalPotentials(self.unary[None])


Prior: TypeAlias = BitsPrior | CategoriesPrior


def factorised_prior(n: int) -> BitsPrior:
    """A probability for each of n bits."""
    return BitsPrior(n)


def gibbs_prior(n: int, edges: Edges | None = None) -> BitsPrior:
    """A score for each of n bits and for each pair of them.

    Args:
        n: bits; more than 20 need edges of small treewidth.
        edges: `[e, 2]`, i < j; default: all pairs.
    """
    return BitsPrior(n, torch.triu_indices(n, n, 1).T.contiguous() if edges is None else edges)


PRIORS: Final[dict[str, Callable[[int], Prior] | None]] = {
    "uniform": None,
    "factorised": factorised_prior,
    "gibbs": gibbs_prior,
}
"""The priors of bits by the name that a configuration gives them."""


def named_prior(name: str, n: int, categorical: bool) -> Prior | None:
    """A prior of `PRIORS` over n bits, or of n categories; None for the uniform one.

    Raises:
        SettingError: there is none of that name.
    """
    if name not in PRIORS or (categorical and name == "gibbs"):
        known = [each for each in PRIORS if not (categorical and each == "gibbs")]
        of = "categories" if categorical else "bits"
        raise SettingError(f"no prior of {of} is called {name!r}; there are: {', '.join(known)}")
    make = PRIORS[name]
    return None if make is None else CategoriesPrior(n) if categorical else make(n)


def prior_name(prior: Prior | None) -> str:
    """The name under which `PRIORS` makes such a prior."""
    if prior is None:
        return "uniform"
    return "gibbs" if isinstance(prior, BitsPrior) and len(prior.edges) else "factorised"


def drawn_states(potentials: AnyPotentials, count: int, generator: torch.Generator) -> Binary:
    """`[count, n]`: exact draws of the Gibbs distribution of one row of potentials.

    Raises:
        SettingError: it has pairwise scores of more than 20 bits.
    """
    unary = potentials.unary[0]
    if potentials.space is not None:
        return potentials.space.drawn(unary, count, generator)
    if isinstance(potentials, Potentials) and potentials.pairwise is None:
        return torch.bernoulli(unary.sigmoid().expand(count, -1), generator=generator)
    states = potentials.states()
    return states[drawn_places(potentials.table(states), count, generator)[0]]
