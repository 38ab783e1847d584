"""The scores of targets of chains: of tags, of sets of tags, and means under distributions."""

from __future__ import annotations

from dataclasses import replace

import torch

from models.traced import is_traced

from ..autograd.contexts import gradients_allowed
from ..spaces.sums.chain_logarithms import BELOW
from ..spaces.sums.chain_sums import Chains
from .chain_positions import Positions
from .targets import are_labels, check_values, frequencies


def target_of_steps(steps: torch.Tensor, positions: Positions, k: int) -> torch.Tensor:
    """Return a target from the first position of each chain on, with label 0 in its padding.

    Args:
        steps: `[length, batch]` tags, or `[length, batch, k]` sets or probabilities.
        positions: the positions of the chains.
        k: the number of tags.

    Raises:
        StructureError: a tag is out of range, a set is empty, or probabilities do not add up to 1.
    """
    labelled = are_labels(steps)
    steps = positions.to_start(steps)
    if labelled:
        steps = torch.where(positions.on, steps, 0).long()
    else:
        padding = (torch.arange(k, device=steps.device) == 0).to(steps.dtype)
        steps = torch.where(positions.on[..., None], steps, padding)
    check_values(steps, k, "tags")
    return steps


def score_of_target(chains: Chains, target: torch.Tensor) -> torch.Tensor:
    """Return the score `[batch]` of a target: of its tags, of all tags that it allows, or the mean.

    Args:
        chains: the scores.
        target: `[length, batch]` tags, or `[length, batch, k]` sets or probabilities.
    """
    if are_labels(target):
        return chains.score(target)
    if target.dtype != torch.bool:
        shares = frequencies(target, target.shape[-1])
        pairs = shares[:-1, :, :, None] * shares[1:, :, None, :]
        return chains.expected_score(shares, pairs * chains.mask[1:, :, None, None])
    possible = replace(chains, emissions=chains.emissions.masked_fill(~target, -torch.inf))
    total = possible.log_partition()
    # Sums work with a finite stand-in for minus infinity; such a total allows no tags at all.
    return torch.where(total > BELOW / 2, total, -torch.inf)


def uniform_score(chains: Chains) -> torch.Tensor:
    """Return the mean score `[batch]` of all allowed tags of a chain."""
    with torch.no_grad():
        # With scores of zero, all allowed tags are equally likely.
        level = Chains(
            torch.zeros_like(chains.emissions).where(chains.emissions > -torch.inf, -torch.inf),
            chains.mask,
            *(
                torch.zeros_like(table).where(table > -torch.inf, -torch.inf)
                for table in (chains.transitions, chains.start, chains.end)
            ),
        )
        pairs = level.pair_marginals(differentiable=False)
    if is_traced():
        return chains.expected_score(level.marginals(), pairs)
    with gradients_allowed():
        level = level.of_autograd()
        emissions = level.emissions.requires_grad_()
        total = replace(level, emissions=emissions).log_partition().sum()
        (marginals,) = torch.autograd.grad(total, emissions)
    return chains.expected_score(marginals, pairs)
