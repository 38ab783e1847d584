"""Compute a tighter bound for each image by a search among its states."""

from __future__ import annotations

import math

import torch

from models.networks.decoder import BinaryDecoder, Flips
from models.networks.own_networks import NetworkDecoder
from models.shapes import Binary, Costs, Images

from ..distributions.prior import PriorExcess

TENURE = 4
"""The number of moves for which a flipped bit stays."""

INDEXED_BITS = 62
"""Most bits of a state, which is identified by a number of 64 bits."""


@torch.no_grad()
def refined_bound(
    decoder: BinaryDecoder | NetworkDecoder,
    x: Images,
    z: Binary,
    moves: int,
    prior: PriorExcess | None = None,
) -> Costs:
    """Return -log sum p(x, z) `[batch]` over the states that a search visits, in nats.

    A sum over some of the states is at most p(x), so this is an upper bound on -log p(x) for any
    set of states. It is the bound of the posterior that is p(z | x) on these states and zero
    elsewhere. The states are those of a tabu search from `z`: every move flips the best bit, and
    evaluates the costs of all n flips. The states that the search does not visit make the
    difference from -log p(x). The bound of an encoder less this one estimates its amortisation gap:
    what it loses because it does not search for each image.

    Args:
        decoder: a decoder of n bits, at most 62.
        x: `[batch, pixels]`.
        z: `[batch, n]`, where the searches begin: samples of the encoder's posterior.
        moves: number of moves of each search, n + 1 decodes each.
        prior: a learnt prior; None for the uniform one.

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
    visited = []
    costs = []
    for move in range(moves):
        near = _with_prior(decoder.flips(x, z), prior)
        state = (z.long() * bits).sum(dim=-1, keepdim=True)
        visited += [state, state ^ bits]
        costs += [near.cost[:, None], near.flipped]
        # A flipped bit stays for TENURE moves, unless its flip gives a new best state.
        barred = (free_from > move) & (near.flipped >= lowest)
        flip = near.flipped.masked_fill(barred, torch.inf).argmin(dim=-1, keepdim=True)
        lowest = torch.minimum(lowest, torch.cat(costs[-2:], dim=-1).amin(dim=-1, keepdim=True))
        z = z.scatter(-1, flip, 1 - z.gather(-1, flip))
        free_from.scatter_(-1, flip, move + 1 + TENURE)
    log_weights = -torch.cat(costs, dim=-1)
    return n * math.log(2) - _log_sum_of_distinct(torch.cat(visited, dim=-1), log_weights)


def _with_prior(near: Flips, prior: PriorExcess | None) -> Flips:
    """Return -log p(x, z) less n log 2 at a state and its flips, for a learnt prior."""
    if prior is None:
        return near
    at_z = prior.at(near.z)
    at_flips = at_z[..., None] + (1 - 2 * near.z) * prior.slope(near.z)
    return Flips(near.cost + at_z, near.flipped + at_flips, near.z)


def _log_sum_of_distinct(states: torch.Tensor, log_weights: torch.Tensor) -> torch.Tensor:
    """Return log sum exp(log_weights) `[batch]`, with each state counted once."""
    ordered, order = states.sort(dim=-1)
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return log_weights.gather(-1, order).masked_fill(again, -torch.inf).logsumexp(dim=-1)
