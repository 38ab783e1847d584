"""A tighter bound for each image, by a search among the states when a model is evaluated."""

from __future__ import annotations

import math

import torch

from models.decoder import BinaryDecoder, Flips
from models.own_networks import NetworkDecoder
from models.shapes import Binary, Costs, Images

from ..distributions.prior import PriorExcess

TENURE = 4
"""Moves for which a bit that was flipped stays."""

INDEXED_BITS = 62
"""States are told apart by int64 numbers."""


@torch.no_grad()
def refined_bound(
    decoder: BinaryDecoder | NetworkDecoder,
    x: Images,
    z: Binary,
    moves: int,
    prior: PriorExcess | None = None,
) -> Costs:
    """`[batch]`: -log sum p(x, z) over the states that a search for each image meets, in nats.

    A sum over some of the states is not more than p(x), so this is an upper bound on -log p(x)
    whatever the states: that of the posterior which is p(z | x) among them and zero elsewhere. They
    are those of a tabu search from `z`: in every move the best flip of one bit, and the costs of
    all n flips come with it. What is left to -log p(x) are the states not met, so the bound of an
    encoder less this one is what the encoder loses by not looking at each image: its amortisation
    gap.

    Args:
        decoder: of n bits, at most 62.
        x: `[batch, pixels]`.
        z: `[batch, n]`, where the searches begin: draws of the encoder's posterior.
        moves: of each search, n + 1 decodes each.
        prior: a learnt one; default: the uniform one.

    References:
        Lücke, Eggert (2010), Expectation truncation and the benefits of preselection in training
        generative models.
        Drefs, Guiraud, Panagiotou, Lücke (2022), Direct evolutionary optimization of variational
        autoencoders with binary latents.
        Cremer, Li, Duvenaud (2018), Inference suboptimality in variational autoencoders.
    """
    n = z.shape[-1]
    bits = 1 << torch.arange(n, device=z.device)
    lowest = torch.full_like(z[:, :1], torch.inf)
    free_from = torch.zeros_like(z, dtype=torch.int64)
    met, costs = [], []
    for move in range(moves):
        near = _with_prior(decoder.flips(x, z), prior)
        state = (z.long() * bits).sum(dim=-1, keepdim=True)
        met += [state, state ^ bits]
        costs += [near.cost[:, None], near.flipped]
        barred = (free_from > move) & (near.flipped >= lowest)
        flip = near.flipped.masked_fill(barred, torch.inf).argmin(dim=-1, keepdim=True)
        lowest = torch.minimum(lowest, torch.cat(costs[-2:], dim=-1).amin(dim=-1, keepdim=True))
        z = z.scatter(-1, flip, 1 - z.gather(-1, flip))
        free_from.scatter_(-1, flip, move + 1 + TENURE)
    return n * math.log(2) - _log_sum_of_distinct(torch.cat(met, dim=-1), -torch.cat(costs, dim=-1))


def _with_prior(near: Flips, prior: PriorExcess | None) -> Flips:
    """-log p(x, z) at a state and its flips, beyond n log 2, in the place of -log p(x | z)."""
    if prior is None:
        return near
    at_z = prior.at(near.z)
    at_flips = at_z[..., None] + (1 - 2 * near.z) * prior.slope(near.z)
    return Flips(near.cost + at_z, near.flipped + at_flips, near.z)


def _log_sum_of_distinct(states: torch.Tensor, log_weights: torch.Tensor) -> torch.Tensor:
    """`[batch]`: log sum exp(log_weights), each state counted once."""
    ordered, order = states.sort(dim=-1)
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return log_weights.gather(-1, order).masked_fill(again, -torch.inf).logsumexp(dim=-1)
