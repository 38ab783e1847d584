"""Log Z of all instances, and the expected indicators, which are its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
import torch

from solvers import labels

from ..spaces.chain_sums import Chains
from .decoding import BATCH
from .instances import Group, Instances, Weights

LogSums: TypeAlias = Callable[[Instances, Weights], tuple[float, np.ndarray, np.ndarray]]
"""Log Z summed over instances; `[places, k]`; and `[pairs, k, k]`, or their sum `[k, k]` where edges share a table."""

TOKENS: Final = 1 << 14
"""Places of a batch of chains, so that what a pass keeps stays in the cache of a core."""


def chain_sums(instances: Instances, weights: Weights) -> tuple[float, np.ndarray, np.ndarray]:
    """`LogSums` where each instance is a chain, by the forward and backward algorithms."""
    unary = torch.from_numpy(weights.unary(instances))
    table = torch.from_numpy(weights.pairs[0]).requires_grad_()
    marginals, pairs, log_z = torch.zeros_like(unary), torch.zeros_like(table), 0.0
    ends = torch.zeros(weights.k, dtype=unary.dtype)
    for places, mask in _batches_of_chains(instances):
        emissions = (unary[places] * mask[..., None]).requires_grad_()
        total = Chains(emissions, mask, table, ends, ends).log_partition().sum()
        own, steps = torch.autograd.grad(total, [emissions, table])
        marginals[places[mask]] = own[mask]
        pairs += steps
        log_z += total.item()
    return log_z, marginals.numpy(), pairs.numpy()


def _batches_of_chains(instances: Instances) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """`[length, batch]`: rows of places, any row where a chain has ended, and whether it has not."""
    lengths = np.diff(instances.offsets)
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        last = first + max(1, int(TOKENS // lengths[order[first]]))
        members = order[first:last]
        steps = np.arange(lengths[members].max())[:, None]
        mask = steps < lengths[members]
        places = instances.offsets[members] + np.minimum(steps, lengths[members] - 1)
        yield torch.from_numpy(places), torch.from_numpy(mask)
        first = last


def graph_sums(instances: Instances, weights: Weights) -> tuple[float, np.ndarray, np.ndarray]:
    """`LogSums` of any graphs, by elimination.

    Raises:
        solvers.UnsupportedProblemError: its tables do not fit into memory.
    """
    unary, tables = weights.unary(instances), weights.tables(instances)
    marginals, log_z = np.empty_like(unary), 0.0
    pairs = np.zeros((instances.pairs, weights.k, weights.k))
    for group in instances.groups:
        for part in group.batches(BATCH):
            pairwise = weights.pairs[0] if tables is None else tables[part.pairs]
            log_z += _sums_of_group(part, unary, pairwise, marginals, pairs)
    return log_z, marginals, pairs


def _sums_of_group(
    group: Group, unary: np.ndarray, pairwise: np.ndarray, marginals: np.ndarray, pairs: np.ndarray
) -> float:
    """Log Z of a batch; fills its marginals in."""
    own = unary[group.places]
    if not len(group.edges):
        found = labels.gibbs(own)
    else:
        found = labels.gibbs(own, pairwise, edges=group.edges)
        swapped = group.edges[:, 0] > group.edges[:, 1]
        of_pairs = found.pairwise_marginals
        turned = np.swapaxes(of_pairs, -1, -2)
        pairs[group.pairs] = np.where(swapped[:, None, None], turned, of_pairs)
    marginals[group.places] = found.unary_marginals
    return float(found.log_partition.sum())
