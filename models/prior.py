"""The priors over latent states that are learnt with the networks."""

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
    """The prior p(z) = exp(h(z)) / Z over n bits, with a score for each bit and each edge.

    It starts uniform. log Z and exact samples are those of
    `structured_vae.Gibbs(prior.potentials())`: over all states up to 20 bits, or by elimination
    where the treewidth is small.

    Args:
        n: number of bits.
        edges: `[e, 2]`, i < j, the pairs that have a score; None for a factorised prior.

    Example:
        >>> gibbs_prior(3).potentials().pairwise.shape
        torch.Size([1, 3])
    """

    edges: torch.Tensor

    def __init__(self, n: int, edges: Edges | None = None):
        super().__init__()
        if edges is None:
            edges = torch.empty((0, 2), dtype=torch.long)
        self.unary = nn.Parameter(torch.zeros(n))
        self.pairwise: nn.Parameter | None = None
        if len(edges):
            self.pairwise = nn.Parameter(torch.zeros(len(edges)))
        self.register_buffer("edges", edges, persistent=False)

    def potentials(self) -> Potentials:
        """Return the scores, one row for all images."""
        if self.pairwise is None:
            return Potentials(self.unary[None])
        return Potentials(self.unary[None], self.pairwise[None], self.edges)


class CategoriesPrior(nn.Module):
    """The prior p(z) = softmax(unary) over k categories; it starts uniform.

    Args:
        k: number of categories.

    Example:
        >>> CategoriesPrior(3).potentials().k
        3
    """

    def __init__(self, k: int):
        super().__init__()
        self.unary = nn.Parameter(torch.zeros(k))

    def potentials(self) -> CategoricalPotentials:
        """Return the logits, one row for all images."""
        return CategoricalPotentials(self.unary[None])


Prior: TypeAlias = BitsPrior | CategoriesPrior
"""A learnt prior over bits or categories."""


def factorised_prior(n: int) -> BitsPrior:
    """Return a prior with a probability for each of n bits."""
    return BitsPrior(n)


def gibbs_prior(n: int, edges: Edges | None = None) -> BitsPrior:
    """Return a prior with a score for each of n bits and for each pair of them.

    Args:
        n: number of bits; more than 20 need edges of small treewidth.
        edges: `[e, 2]`, i < j; None for all pairs.
    """
    if edges is None:
        edges = torch.triu_indices(n, n, 1).T.contiguous()
    return BitsPrior(n, edges)


PRIORS: Final[dict[str, Callable[[int], Prior] | None]] = {
    "uniform": None,
    "factorised": factorised_prior,
    "gibbs": gibbs_prior,
}
"""The priors of bits by the name that a configuration gives them."""


def named_prior(name: str, n: int, categorical: bool) -> Prior | None:
    """Return a prior of `PRIORS` over n bits, or of n categories; None for the uniform one.

    Args:
        name: a key of `PRIORS`.
        n: number of bits, or of categories.
        categorical: whether the prior is over categories, which have no prior "gibbs".

    Raises:
        SettingError: no such prior has that name.
    """
    values = "bits"
    names = list(PRIORS)
    if categorical:
        values = "categories"
        names.remove("gibbs")
    if name not in names:
        raise SettingError(
            f"no prior of {values} is called {name!r}; there are: {', '.join(names)}"
        )
    make = PRIORS[name]
    if make is None:
        return None
    if categorical:
        return CategoriesPrior(n)
    return make(n)


def prior_name(prior: Prior | None) -> str:
    """Return the name under which `PRIORS` makes such a prior."""
    if prior is None:
        return "uniform"
    if isinstance(prior, BitsPrior) and len(prior.edges):
        return "gibbs"
    return "factorised"


def drawn_states(potentials: AnyPotentials, count: int, generator: torch.Generator) -> Binary:
    """Return exact samples `[count, n]` of the Gibbs distribution of one row of potentials.

    Args:
        potentials: one row of scores.
        count: number of samples.
        generator: a generator on the device of the potentials.

    Raises:
        SettingError: there are pairwise scores of more than 20 bits.
    """
    unary = potentials.unary[0]
    if potentials.space is not None:
        return potentials.space.drawn(unary, count, generator)
    if isinstance(potentials, Potentials) and potentials.pairwise is None:
        return torch.bernoulli(unary.sigmoid().expand(count, -1), generator=generator)
    states = potentials.states()
    return states[drawn_places(potentials.table(states), count, generator)[0]]
