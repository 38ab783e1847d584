"""Conditional random fields over labels, as functions of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solvers import labels

from .scores import edges_of, usable
from .sums import differentiable, host_sums


def label_log_partition(unary: Any, tables: Any, *, edges: Any) -> Any:
    """Return log Z `[...]` of variables of k labels in nats; its gradient is the marginals.

    Sums are exact, by variable elimination in float64 on the host. Minus infinity forbids a label
    or a pair of labels. An instance with a score of nan or plus infinity has the value nan.

    Args:
        unary: `[..., n, k]`.
        tables: `[..., e, k, k]`, rows being labels of the first variable of an edge.
        edges: `[e, 2]`, the pairs, the lower variable first; integers that are no tracers.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
    """
    pairs = edges_of(jnp.zeros(jnp.shape(unary)[-2]), jnp.zeros(jnp.shape(tables)[-3]), edges)

    gibbs = partial(labels.gibbs, edges=pairs)
    unary = jnp.asarray(unary)
    shape = (*unary.shape[:-2], *jnp.shape(tables)[-3:])
    tables = jnp.broadcast_to(jnp.asarray(tables, unary.dtype), shape)
    return differentiable(*host_sums(gibbs), 2, forbidding=True)(unary, tables)


def chain_log_likelihood(
    emissions: Any, tags: Any, transitions: Any, start: Any, end: Any, lengths: Any = None
) -> Any:
    """Return the log likelihood `[...]` of tags under a linear-chain CRF, in nats.

    It is that of `LinearChainCRF`, with parameters as arguments. It is nan if a score of the chain
    is nan or plus infinity, or one of its tags is out of range.

    Args:
        emissions: `[..., length, k]`.
        tags: `[..., length]`, integers from 0 to k - 1; any integers beyond the end of a chain.
        transitions: `[k, k]`, from rows to columns.
        start: `[k]`.
        end: `[k]`.
        lengths: `[...]`, from 1 to length, of chains that end earlier; None for full length.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
    """
    unary, tables, on = _chain(emissions, transitions, start, end, lengths)
    length, k = unary.shape[-2:]
    tags = jnp.where(on, jnp.asarray(tags), 0)
    in_range = ((tags >= 0) & (tags < k)).all(axis=-1)
    tags = jnp.clip(tags, 0, k - 1)
    # Added to the scores, so that the gradients are nan too.
    unary = unary + jnp.where(in_range, 0.0, jnp.nan)[..., None, None]
    chosen = jnp.take_along_axis(unary, tags[..., None], axis=-1)[..., 0]
    score = jnp.where(on, chosen, 0.0).sum(axis=-1)
    if length == 1:
        return score - jax.nn.logsumexp(unary[..., 0, :], axis=-1)
    score = score + _taken(tables, tags)
    edges = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)
    # A position beyond the end has k labels of score 0, which multiply Z by k.
    beyond = (~on).sum(axis=-1) * jnp.log(k)
    return score - (label_log_partition(unary, tables, edges=edges) - beyond)


def chain_decode(
    emissions: Any, transitions: Any, start: Any, end: Any, lengths: Any = None
) -> Any:
    """Return the best tags `[..., length]` of each chain, -1 beyond its end; without a gradient.

    A chain with a score of nan or plus infinity has the tags -1.

    Args:
        emissions: as in `chain_log_likelihood`.
        transitions: as in `chain_log_likelihood`.
        start: as in `chain_log_likelihood`.
        end: as in `chain_log_likelihood`.
        lengths: as in `chain_log_likelihood`.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
    """
    unary, tables, on = _chain(emissions, transitions, start, end, lengths)
    length = unary.shape[-2]
    edges = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)

    def solved(unary: Any, tables: Any) -> np.ndarray:
        scores, accepted = usable([np.asarray(unary), np.asarray(tables)], 2, forbidding=True)
        # A chain of one position has no pairs, and a problem without edges needs no solver.
        if length == 1:
            best = scores[0].argmax(axis=-1)
        else:
            best = np.asarray(labels.solve(*scores, edges=edges).labels)
        chosen: np.ndarray = np.where(accepted[..., None], best, -1).astype(np.int32)
        return chosen

    answer = jax.ShapeDtypeStruct(unary.shape[:-1], jnp.int32)
    free = jax.lax.stop_gradient((unary, tables))
    tags = jax.pure_callback(solved, answer, *free, vmap_method="broadcast_all")
    return jnp.where(on, tags, -1)


def _chain(emissions: Any, transitions: Any, start: Any, end: Any, lengths: Any) -> Any:
    """Return unary scores, tables of pairs that are 0 beyond the end, and where a chain is."""
    emissions = jnp.asarray(emissions)
    length = emissions.shape[-2]
    if lengths is None:
        lengths = jnp.full(emissions.shape[:-2], length)
    ends = jnp.asarray(lengths)[..., None]
    places = jnp.arange(length)
    on = places < ends
    unary = jnp.where(on[..., None], emissions, 0.0)
    unary = unary.at[..., 0, :].add(start)
    unary = unary + jnp.where((places == ends - 1)[..., None], end, 0.0)
    tables = jnp.where(on[..., 1:, None, None], transitions, 0.0)
    return unary, tables, on


def _taken(tables: Any, tags: Any) -> Any:
    """Return the sum of the scores of the pairs of tags."""
    k = tables.shape[-1]
    places = tags[..., :-1] * k + tags[..., 1:]
    flat = tables.reshape(*tables.shape[:-2], k * k)
    return jnp.take_along_axis(flat, places[..., None], axis=-1)[..., 0].sum(axis=-1)
