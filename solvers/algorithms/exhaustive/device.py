"""Enumerate states by one matrix product of two tables of half-states, in any array library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, Scores, States, as_float64, beside, namespace_of
from ...problems.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Float


def device_argmax(problem: Problem, memory: int) -> States:
    """Return the maximisers `[batch, n]`, with float64 throughout.

    A state is a low half a and a high half b, and with W the pairwise scores between the halves
    score(a, b) = score(a) + score(b) + a W b' = [a W | score(a) | 1] [b | 1 | score(b)]',
    a product of a `[2^(n//2), ...]` and a `[..., 2^(n - n//2)]` matrix per instance.

    Args:
        problem: coefficients of any array library, on any device.
        memory: bytes for the table `[chunk, 2^n]` of a chunk of the batch.
    """
    xp = namespace_of(problem.unary)
    unary = as_float64(problem.unary)
    pairwise = dense_matrices(problem)
    low = _states(problem.n // 2, unary)
    high = _states(problem.n - problem.n // 2, unary)
    # A table of 2^n float64 scores per instance has to fit into the memory.
    chunk = max(1, memory // (8 * 2**problem.n))
    starts = range(0, problem.batch, chunk)
    chunks = (slice(start, min(start + chunk, problem.batch)) for start in starts)
    winners = [_winner(unary[rows, :], pairwise[rows, :, :], low, high) for rows in chunks]
    winner = xp.concat(winners)
    # The table is flattened by rows: a is the row and b the column.
    a = winner // high.shape[0]
    b = winner % high.shape[0]
    states = xp.concat([xp.take(low, a, axis=0), xp.take(high, b, axis=0)], axis=-1)
    return xp.astype(states, xp.int8)


def dense_matrices(problem: Problem) -> Float[Array, "batch n n"]:
    """Return the pairwise scores as upper triangular matrices."""
    # Every entry is gathered from the scores, followed by one zero.
    xp = namespace_of(problem.unary)
    source = np.full((problem.n, problem.n), problem.e)
    source[problem.edges[:, 0], problem.edges[:, 1]] = np.arange(problem.e)
    scores = xp.concat(
        [as_float64(problem.pairwise), as_float64(problem.unary[:, :1]) * 0], axis=-1
    )
    entries = xp.take(scores, beside(scores, source.ravel()), axis=-1)
    return xp.reshape(entries, (problem.batch, problem.n, problem.n))


def _states(bits: int, like: Array) -> Float[Array, "states bits"]:
    """Return all states of some bits; bit k of state s is (s >> k) & 1."""
    table = np.arange(2**bits)[:, None] >> np.arange(bits) & 1
    return beside(like, table.astype(np.float64))


def _winner(unary: Array, pairwise: Array, low: Array, high: Array) -> Any:
    """Return the index a * 2^high + b of each maximiser, `[chunk]`."""
    xp = namespace_of(unary)
    half = low.shape[1]
    low_score = _scores(unary[:, :half], pairwise[:, :half, :half], low)
    high_score = _scores(unary[:, half:], pairwise[:, half:, half:], high)
    rows = low @ pairwise[:, :half, half:]
    # The rows are [a W | score(a) | 1], the columns [b | 1 | score(b)].
    rows = xp.concat([rows, low_score[:, :, None], xp.ones_like(low_score)[:, :, None]], axis=-1)
    columns = xp.broadcast_to(high.T, (unary.shape[0], *high.T.shape))
    columns = xp.concat(
        [columns, xp.ones_like(high_score)[:, None, :], high_score[:, None, :]], axis=1
    )
    table = xp.reshape(rows @ columns, (unary.shape[0], -1))
    return xp.argmax(table, axis=-1)


def _scores(unary: Array, pairwise: Array, states: Array) -> Scores:
    """Return the score of every half-state within its half, `[chunk, states]`."""
    xp = namespace_of(unary)
    return unary @ states.T + xp.sum((states @ pairwise) * states, axis=-1)
