"""Draw distinct states of a distribution, by Gumbel top-k and stochastic beam search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import torch
from torch.nn.functional import logsigmoid

from models.potentials import AnyPotentials
from models.states import all_states, codes_of, of_variables

from ..errors import ConfigError
from ..noise import gumbel
from ..spaces import StateSpace

LARGEST_TABLE: Final = 2**9
"""Most states that are listed; more are searched variable by variable."""

BLOCK: Final = 4
"""Independent bits that the search takes at once, as one variable of 2^4 values."""

Conditionals = Callable[[torch.Tensor], torch.Tensor]
"""Values of the first i variables `[beams, batch, i]` -> log q of the values of the next one.

The result is `[beams, batch, values]`, or `[1, batch, values]` where all beams have the same.
"""


class ClampedSums(Protocol):
    """A distribution over a space with marginals for any clamped variables."""

    @property
    def potentials(self) -> AnyPotentials:
        """The scores h of the states."""

    @property
    def space(self) -> StateSpace:
        """The set of states."""

    def clamped_marginals(self, offsets: torch.Tensor) -> torch.Tensor:
        """Return the marginals `[rows, batch, n]` after adding `offsets` to the unary scores."""


@torch.no_grad()
def distinct_states(q: ClampedSums, generator: torch.Generator, count: int) -> torch.Tensor:
    """Return states `[count, batch, n]` of a Gibbs distribution, drawn without replacement.

    The states of an image are distributed as if they were drawn one after the other, each from q
    restricted to the states that were not drawn before. Their order is not that of the draws.

    Args:
        q: the distribution.
        generator: on the device of its potentials.
        count: number of states per image, at most the number of all states.

    Raises:
        ConfigError: there are fewer states.
    """
    h = q.potentials
    refuse_too_many(count, h)
    space = q.space
    # A small table lists all states: Gumbel top-k needs nothing else.
    if h.state_count <= LARGEST_TABLE or space.one_variable:
        states = h.states()
        places = gumbel_top_k(h.table(states).double(), count, generator)
        return states[places]
    if h.pairwise is not None or not space.independent:
        return _of_dependent_variables(q, generator, count)
    if space.categorical:
        return _of_independent_variables(q, generator, count)
    return _of_independent_bits(q, generator, count)


def refuse_too_many(count: int, potentials: AnyPotentials) -> None:
    """Raise if there are fewer states than are to be drawn without replacement.

    Args:
        count: how many are to be drawn.
        potentials: the scores of the states.

    Raises:
        ConfigError: there are fewer.
    """
    if count > potentials.state_count:
        raise ConfigError(
            f"count must be at most the number of states, {potentials.state_count}; got {count}"
        )


def gumbel_top_k(scores: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return the places `[count, batch]` of the largest of `scores [batch, states]` with noise.

    They are samples without replacement of the distribution that is proportional to exp(scores).

    References:
        Kool, van Hoof, Welling (2019), Stochastic beams and where to find them.
    """
    perturbed = scores + gumbel(scores, generator)
    return perturbed.topk(count, dim=-1).indices.T


def stochastic_beam_search(
    conditionals: Conditionals,
    variables: int,
    count: int,
    generator: torch.Generator,
    like: torch.Tensor,
) -> torch.Tensor:
    """Return the values `[count, batch, variables]` of states drawn without replacement.

    It is Gumbel top-k over all states, without listing them. A beam is a prefix, the values of the
    first variables. Its perturbed log-probability G is the maximum of those of all states that
    begin with it. So the children of a beam get independent Gumbel noise under the condition that
    their maximum is G, and the prefixes of the `count` best states are always among the `count`
    best prefixes.

    Args:
        conditionals: log q of the values of the next variable.
        variables: number of variables.
        count: number of states, at most the number of all states.
        generator: on the device of `like`.
        like: `[batch, ...]`, whose device is used.

    References:
        Kool, van Hoof, Welling (2019), Stochastic beams and where to find them, algorithm 1.
    """
    batch = len(like)
    prefixes = torch.zeros((1, batch, 0), dtype=torch.long, device=like.device)
    log_q = torch.zeros((1, batch), dtype=torch.float64, device=like.device)
    perturbed = torch.zeros_like(log_q)
    for _ in range(variables):
        children = log_q[..., None] + conditionals(prefixes).double()
        noisy = _with_maximum(children + gumbel(children, generator), perturbed)
        values = children.shape[-1]
        # All children of an image compete: [batch, beams * values].
        flat = noisy.movedim(0, 1).flatten(1)
        kept = min(count, flat.shape[-1])
        top = flat.topk(kept, dim=-1)
        perturbed = top.values.T
        log_q = children.movedim(0, 1).flatten(1).gather(-1, top.indices).T
        parents = top.indices.T // values
        chosen = top.indices.T % values
        prefixes = prefixes.gather(0, parents[..., None].expand(-1, -1, prefixes.shape[-1]))
        prefixes = torch.cat([prefixes, chosen[..., None]], dim=-1)
    return prefixes


def _with_maximum(noisy: torch.Tensor, maximum: torch.Tensor) -> torch.Tensor:
    """Return Gumbel variables `[..., values]` moved so that their maximum is `maximum [...]`.

    Each is -log(exp(-T) - exp(-Z) + exp(-G)), where T is the maximum to reach, Z the present one
    and G the variable, in a form that does not overflow.
    """
    gaps = noisy - noisy.amax(dim=-1, keepdim=True)
    # log(1 - exp(gap)), which is minus infinity for the largest one.
    excess = maximum[..., None] - noisy + torch.log(-torch.expm1(gaps))
    return maximum[..., None] - excess.clamp_min(0) - torch.log1p(torch.exp(-excess.abs()))


def _of_independent_bits(q: ClampedSums, generator: torch.Generator, count: int) -> torch.Tensor:
    """Return states `[count, batch, n]` of independent bits, which the search takes in blocks."""
    unary = q.potentials.unary.detach().double()
    blocks = torch.split(unary, BLOCK, dim=-1)
    tables = [_table_of_bits(scores) for scores in blocks]
    labels = stochastic_beam_search(
        lambda prefixes: tables[prefixes.shape[-1]], len(blocks), count, generator, unary
    )
    # The value of a block is the number whose binary digits are its bits.
    digits = torch.arange(BLOCK, device=unary.device)
    bits = (labels[..., None] >> digits & 1).flatten(-2)
    return bits[..., : unary.shape[-1]].to(q.potentials.unary.dtype)


def _table_of_bits(scores: torch.Tensor) -> torch.Tensor:
    """Return log q `[1, batch, 2^n]` of all states of independent bits of `scores [batch, n]`."""
    states = all_states(scores.shape[-1], scores)
    return (logsigmoid(scores) @ states.T + logsigmoid(-scores) @ (1 - states).T)[None]


def _of_independent_variables(
    q: ClampedSums, generator: torch.Generator, count: int
) -> torch.Tensor:
    """Return states `[count, batch, variables k]` of independent variables of k values."""
    unary = q.potentials.unary.detach().double()
    variables = q.space.variable_count(unary.shape[-1])
    table = of_variables(unary, variables).log_softmax(dim=-1)
    labels = stochastic_beam_search(
        lambda prefixes: table[None, :, prefixes.shape[-1]], variables, count, generator, unary
    )
    return codes_of(labels, table.shape[-1]).to(q.potentials.unary.dtype)


def _of_dependent_variables(q: ClampedSums, generator: torch.Generator, count: int) -> torch.Tensor:
    """Return states `[count, batch, n]` by sums over the states with clamped variables."""
    unary = q.potentials.unary
    n = unary.shape[-1]
    variables = q.space.variable_count(n)
    labels = stochastic_beam_search(_clamped(q), variables, count, generator, unary)
    if q.space.categorical:
        return codes_of(labels, n // variables).to(unary.dtype)
    return labels.to(unary.dtype)


def _clamped(q: ClampedSums) -> Conditionals:
    """Return log q of a variable given those before it, from sums with clamped variables."""
    h = q.potentials.detach()
    n = h.unary.shape[-1]
    variables = q.space.variable_count(n)
    # An offset leaves the other values of a variable less than exp(-60) of the probability.
    clamp = 2 * h.unary.double().abs().sum(dim=-1) + 60
    if h.pairwise is not None:
        clamp = clamp + 2 * h.pairwise.double().abs().sum(dim=-1)

    def log_q(prefixes: torch.Tensor) -> torch.Tensor:
        beams, batch, place = prefixes.shape
        offsets = torch.zeros((beams, batch, n), dtype=torch.float64, device=h.unary.device)
        if not q.space.categorical:
            offsets[..., :place] = (2 * prefixes - 1) * clamp[:, None]
            ones = q.clamped_marginals(offsets)[..., place]
            return _log(torch.stack([1 - ones, ones], dim=-1))
        k = n // variables
        codes = codes_of(prefixes, k)
        offsets[..., : place * k] = codes * clamp[:, None]
        marginals = q.clamped_marginals(offsets)[..., place * k : (place + 1) * k]
        return _log(marginals)

    return log_q


def _log(probabilities: torch.Tensor) -> torch.Tensor:
    """Return finite logarithms, since rounding may make a probability zero or negative."""
    return probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()
