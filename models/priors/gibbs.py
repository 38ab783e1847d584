"""The priors that are Gibbs distributions over bits, bits with pairs, or categories."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from ..arguments import of_kind, whole_number
from ..errors import SettingError
from ..host_edges import HostEdges, once_on_host
from ..networks.encoders.hidden_layer import no_pairs, pairs_within
from ..potentials import AnyPotentials, CategoricalPotentials, LatentSpace, Potentials
from ..shapes import Binary, Costs, Edges
from ..states import drawn_places
from .prior import Answer, LearntPrior, Prior


class GibbsPrior(Prior):
    """The base of priors with potentials: p(z) = exp(h(z)) / Z.

    Attributes:
        unary: `[n]`, the scores of single entries of a state.
    """

    unary: nn.Parameter

    @abstractmethod
    def potentials(self) -> AnyPotentials:
        """Return the scores, one row for all images."""

    def described(
        self,
        of_potentials: Callable[[AnyPotentials], Answer],
        of_density: Callable[[LearntPrior], Answer],
    ) -> Answer:
        """Return the result of `of_potentials` for the scores, as specified by `Prior`."""
        return of_potentials(self.potentials())

    def check_space(self, space: LatentSpace) -> None:
        """Accept a space whose sums are known: `sample` and the scores are over its states.

        Raises:
            SettingError: the prior has pairwise scores, or the sums over the space are not known.
        """
        if self.potentials().pairwise is not None:
            raise SettingError(
                f"the prior {self.name} has scores of pairs, and sums over {space} have none: take "
                "the prior factorised or uniform"
            )
        if not space.tractable:
            raise SettingError(
                f"the prior {self.name} needs sums over the states of {space}, which are not "
                "known: take the prior uniform"
            )

    def log_prob(self, z: Binary) -> Costs:
        """Raise, since log Z is a sum over the states.

        Raises:
            NotImplementedError: always; use `structured_vae.Gibbs` of the potentials.
        """
        raise NotImplementedError(f"log p of a {type(self).__name__} is that of its potentials")

    def sample(
        self, count: int, generator: torch.Generator, space: LatentSpace | None = None
    ) -> Binary:
        """Return exact samples `[count, n]`, as specified by `Prior`."""
        return drawn_states(replace(self.potentials(), space=space), count, generator)


class BitsPrior(GibbsPrior):
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
        n = whole_number(n, "n", SettingError)
        make = no_pairs
        if edges is not None:
            of_kind(edges, "edges", SettingError, torch.Tensor, "a tensor of pairs [e, 2], or None")
            make = edges.clone
        self.register_constant("edges", make)
        self.unary = nn.Parameter(torch.zeros(n))
        self.pairwise: nn.Parameter | None = None
        if len(self.edges):
            self.pairwise = nn.Parameter(torch.zeros(len(self.edges)))
        self._known_edges: HostEdges | None = None

    @property
    def name(self) -> str:  # type: ignore[override]  # depends on the edges
        """The key under which `PRIORS` makes such a prior."""
        if len(self.edges):
            return "gibbs"
        return "factorised"

    def check(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless the states have n bits, as specified by `Prior`."""
        if categorical or len(self.unary) != n:
            raise _misfit(self, n, variables, categorical)

    def potentials(self) -> Potentials:
        """Return the scores, one row for all images."""
        if self.pairwise is None:
            return Potentials(self.unary[None])
        if self._known_edges is None:
            self._known_edges = once_on_host(self.edges)
        return Potentials(
            self.unary[None], self.pairwise[None], self.edges, host_edges=self._known_edges
        )


class CategoriesPrior(GibbsPrior):
    """The prior p(z) = softmax(unary) over k categories; it starts uniform.

    Args:
        k: number of categories.

    Example:
        >>> CategoriesPrior(3).potentials().k
        3
    """

    def __init__(self, k: int):
        super().__init__()
        self.unary = nn.Parameter(torch.zeros(whole_number(k, "k", SettingError)))

    name = "factorised"

    def check(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless a state is one of k categories, as specified by `Prior`."""
        if not categorical or variables > 1 or len(self.unary) != n:
            raise _misfit(self, n, variables, categorical)

    def potentials(self) -> CategoricalPotentials:
        """Return the logits, one row for all images."""
        return CategoricalPotentials(self.unary[None])


def factorised_prior(n: int) -> BitsPrior:
    """Return a prior with a probability for each of n bits."""
    return BitsPrior(n)


def gibbs_prior(n: int, edges: Edges | None = None) -> BitsPrior:
    """Return a prior with a score for each of n bits and for each pair of them.

    Args:
        n: number of bits; more than 20 need edges of small treewidth.
        edges: `[e, 2]`, i < j; None for all pairs.
    """
    n = whole_number(n, "n", SettingError)
    if edges is None:
        prior = BitsPrior(n, pairs_within(n, 0))
        # Made from n, since a copy of edges on the device meta would have no numbers.
        prior.register_constant("edges", partial(pairs_within, n, 0))
        return prior
    return BitsPrior(n, edges)


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
    if not potentials.categorical and potentials.pairwise is None:
        return torch.bernoulli(unary.sigmoid().expand(count, -1), generator=generator)
    states = potentials.states()
    return states[drawn_places(potentials.table(states), count, generator)[0]]


def _misfit(prior: GibbsPrior, n: int, variables: int, categorical: bool) -> SettingError:
    if categorical and variables > 1:
        return SettingError(
            f"a learnt prior of {variables} variables of several values is autoregressive, such as "
            f"models.priors.AutoregressivePrior; got a {type(prior).__name__}"
        )
    values = "bits"
    if categorical:
        values = "categories"
    return SettingError(
        f"the prior is a {type(prior).__name__} of {len(prior.unary)}, and the encoder has {n} "
        f"{values}; they must agree"
    )
