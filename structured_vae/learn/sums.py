"""Log Z of all instances, and its gradient, the expected indicators of the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
import torch

from solvers import labels

from ..spaces.sums.chain_sums import Chains
from .decoding import BATCH
from .instances import Group, Instances, Weights
from .scope import EVERYTHING, Scope

LogSums: TypeAlias = Callable[[Instances, Weights, Scope], tuple[float, np.ndarray, np.ndarray]]
"""Function that returns the sum of log Z over instances, and the marginals of nodes and pairs.

The marginals are `[nodes, k]` and `[pairs, k, k]`, or the sum `[k, k]` of the latter if all edges
share a table. All are over the labels that the scope allows, times the weight of the instance.
"""

TOKENS: Final = 1 << 14
"""Number of positions in a batch of chains, so that its arrays fit into a core's cache."""


def chain_sums(
    instances: Instances, weights: Weights, scope: Scope = EVERYTHING
) -> tuple[float, np.ndarray, np.ndarray]:
    """Compute the `LogSums` of chains by the forward and backward algorithms."""
    unary = torch.from_numpy(scope.unary(instances, weights.unary(instances)))
    table = torch.from_numpy(scope.table(weights.pairs[0])).requires_grad_()
    of_instances = torch.from_numpy(scope.weights_of(instances))
    marginals = torch.zeros_like(unary)
    pairs = torch.zeros_like(table)
    log_z = 0.0
    ends = torch.zeros(weights.k, dtype=unary.dtype)
    for members, nodes, mask in _batches_of_chains(instances):
        emissions = torch.where(mask[..., None], unary[nodes], 0.0).requires_grad_()
        log_z_of_chains = Chains(emissions, mask, table, ends, ends).log_partition()
        total = (of_instances[members] * log_z_of_chains).sum()
        # The gradient of log Z: marginals of the positions, and of the transitions summed.
        of_nodes, of_steps = torch.autograd.grad(total, [emissions, table])
        marginals[nodes[mask]] = of_nodes[mask]
        pairs += of_steps
        log_z += total.item()
    return log_z, marginals.numpy(), pairs.numpy()


def _batches_of_chains(
    instances: Instances,
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield padded batches: the numbers `[batch]` of their chains, rows of features, and a mask.

    The feature row of each position and the mask are `[length, batch]`.

    The longest chains come first, so that chains of similar length share a batch.
    """
    lengths = np.diff(instances.offsets)
    # By length, so that the chains of a batch need little padding.
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        last = first + max(1, int(TOKENS // lengths[order[first]]))
        members = order[first:last]
        steps = np.arange(lengths[members].max())[:, None]
        mask = steps < lengths[members]
        # Positions beyond the end repeat the last row; the mask leaves them out.
        nodes = instances.offsets[members] + np.minimum(steps, lengths[members] - 1)
        yield torch.from_numpy(members), torch.from_numpy(nodes), torch.from_numpy(mask)
        first = last


def graph_sums(
    instances: Instances, weights: Weights, scope: Scope = EVERYTHING
) -> tuple[float, np.ndarray, np.ndarray]:
    """Compute the `LogSums` of any graphs by variable elimination.

    Raises:
        solvers.UnsupportedProblemError: the tables of elimination do not fit into memory.
    """
    unary = scope.unary(instances, weights.unary(instances))
    tables = weights.tables(instances)
    of_instances = scope.weights_of(instances)
    marginals = np.empty_like(unary)
    pairs = np.zeros((instances.pairs, weights.k, weights.k))
    log_z = 0.0
    for group in instances.groups:
        for batch in group.batches(BATCH):
            if tables is None:
                pairwise = weights.pairs[0]
            else:
                pairwise = tables[batch.pairs]
            factors = of_instances[batch.members]
            log_z += factors @ _sums_of_group(batch, unary, pairwise, marginals, pairs)
            marginals[batch.nodes] *= factors[:, None, None]
            pairs[batch.pairs] *= factors[:, None, None, None]
    return log_z, marginals, pairs


def _sums_of_group(
    group: Group, unary: np.ndarray, pairwise: np.ndarray, marginals: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """Return log Z `[batch]`, and write the marginals into `marginals` and `pairs`."""
    scores = unary[group.nodes]
    if not len(group.edges):
        gibbs = labels.gibbs(scores)
    else:
        gibbs = labels.gibbs(scores, pairwise, edges=group.edges)
        # The solver orders each edge as i < j; transpose the tables of edges with i > j.
        swapped = group.edges[:, 0] > group.edges[:, 1]
        of_pairs = gibbs.pairwise_marginals
        transposed = np.swapaxes(of_pairs, -1, -2)
        pairs[group.pairs] = np.where(swapped[:, None, None], transposed, of_pairs)
    marginals[group.nodes] = gibbs.unary_marginals
    return np.asarray(gibbs.log_partition)
