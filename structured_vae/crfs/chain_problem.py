"""The problem over labels that the best tags of a batch of chains solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from solvers.labels import LabelProblem

from ..spaces.sums.chain_sums import Chains


def penalised(chains: Chains) -> Chains:
    """Replace forbidden parameters by a finite penalty larger than any gain in score."""
    tables = (chains.transitions, chains.start, chains.end)
    if all(bool(table.isfinite().all()) for table in tables):  # spares passes over emissions
        return chains
    largest = [_largest(scores) for scores in (chains.emissions, *tables)]
    penalty = -2 * len(chains.mask) * torch.stack(largest).sum() - 1
    finite = (torch.where(table == -torch.inf, penalty, table) for table in tables)
    return Chains(chains.emissions, chains.mask, *finite)


def _largest(scores: torch.Tensor) -> torch.Tensor:
    """Return the largest absolute value among the finite scores."""
    return torch.where(scores.isfinite(), scores, 0.0).abs().amax()


def problem_of(chains: Chains, one_padding: bool) -> LabelProblem[torch.Tensor]:
    """Make one batch of the chains, in which positions beyond the end of a chain score 0.

    Args:
        chains: the scores, finite but for emissions.
        one_padding: whether positions beyond the end have tag 0 alone, so that no two sequences
            differ there alone.
    """
    unary = chains.emissions.clone()
    if one_padding:
        unary[..., 1:].masked_fill_(~chains.mask[..., None], -torch.inf)
    unary[0] += chains.start
    last = chains.mask.sum(dim=0) - 1
    unary[last, torch.arange(unary.shape[1], device=unary.device)] += chains.end
    unary = unary.transpose(0, 1)
    length = unary.shape[1]
    if length == 1:
        return LabelProblem.from_arrays(unary)
    edges = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)
    problem = LabelProblem.from_arrays(unary, chains.transitions, edges=edges)
    if bool(chains.mask.all()):
        return problem
    # A weight of 0 switches an edge off.
    weights = chains.mask[1:].T.to(unary)
    if isinstance(problem.unary, torch.Tensor):
        return replace(problem, weights=weights)
    return replace(problem, weights=weights.numpy())
