"""Multi-start tabu search with one-flip moves, elite states and path relinking; compiled, for the host.

References:
    Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic problems.
    Wang, Lü, Glover, Hao (2012), Path relinking for unconstrained binary quadratic programming.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Edges, Pairwise, States, Unary
from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...compiled.random import below, random_bits, random_states
from ...compiled.threads import over_slices
from ...limits.deadline import Deadline
from .flips import descend, flip, load_state, padded, tabu_run, walk_towards

STARTS = 4
"""Runs from which `local_search` answers without a time limit, and which every exact search begins with."""
ELITES = 8
STALLED_STARTS = 30
"""So many starts in a row without a new elite state, and all but the best elite are forgotten."""
SWEPT_FROM = 2048
"""Least n at which a run from a random state first flips whatever gains, which n times the best flip is slow for."""
LARGEST_GAIN = 2.0**30
"""Integer gains stay near or below this."""
LOWEST_GAIN = np.int32(-(2**31 - 1))


def tabu_search(
    unary: Unary,
    pairwise: Pairwise,
    edges: Edges,
    starts: int = STARTS,
    seed: int = 0,
    flips: int | None = None,
    deadline: Deadline | None = None,
    threads: int | None = None,
    once: bool = False,
    found: Callable[[States], None] | None = None,
) -> States:
    """The best assignments found, `[batch, n]` int8; no proof that they are maximisers.

    The answer depends on the seed alone, not on the threads, where there is no time limit.

    Args:
        unary: `[batch, n]`, float32 or float64.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`, distinct pairs.
        starts: tabu runs an instance; with a deadline, runs between two looks at it.
        seed: of the random numbers, >= 0.
        flips: a run ends after so many flips without a new best; None for a default that grows with n.
        deadline: when to end; an instance that it cuts off has a local maximum near a random state. None
            for `starts` runs.
        threads: most threads to use; None for all cores.
        once: whether to end after `starts` runs also where the deadline is later.
        found: gets the best so far between two looks at the deadline.
    """
    batch, n = unary.shape
    flips = flips or default_flips(n)
    graph = _adjacency(edges, n)
    pool = np.zeros((batch, ELITES, n), np.int8)
    values = np.full((batch, ELITES), -np.inf)
    stalled = np.zeros(batch, np.int64)
    random = random_states(batch, np.random.default_rng(seed))
    scores = [np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise)]
    scale, coarse, symmetric = _scales(edges, *scores)
    state = [*scores, scale, symmetric, pool, values, stalled, random]
    until_then = deadline is not None and not once
    deadline = deadline or Deadline.after(None)

    def search(runs: int, stop: np.ndarray) -> None:
        work = runs * nanoseconds_a_run(n, flips)
        # A kernel a type, and only if there is an instance for it: compiling them takes seconds.
        for lowest, used in ((LOWEST_GAIN, coarse), (-np.inf, ~coarse)):
            if used.any():
                kernel = partial(_search_instances, edges, *graph, padded(n), runs, flips, lowest, stop)
                over_slices(kernel, used, *state, nanoseconds=work, threads=threads)

    work = 1e-9 * batch * nanoseconds_a_run(n, flips)
    with deadline.flag(np.inf if until_then else starts * work) as stop:
        search(1 if until_then else starts, stop)
        while until_then and not deadline.passed:
            if found is not None:
                found(_best(pool, values))
            search(starts, stop)
    return _best(pool, values)


def _best(pool: np.ndarray, values: np.ndarray) -> States:
    """`[batch, n]`, of elites `[batch, elites, n]` of these values."""
    best: States = pool[np.arange(len(pool)), np.argmax(values, axis=1)]
    return best


def default_flips(n: int) -> int:
    """Flips without a new best after which a run ends."""
    return 50 + 2 * n


def nanoseconds_a_run(n: int, flips: int) -> float:
    """Estimated work of a run that ends after so many flips without a new best: it makes about twice as many."""
    return 2 * flips * (40 + 0.2 * n)


def _adjacency(edges: Edges, n: int) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray]:
    """Whether to take the graph as dense; else the CSR adjacency: first `[n + 1]`, node and edge `[2e]`."""
    dense = 2 * len(edges) > 0.08 * n * n and n <= 8192
    if dense:
        return dense, np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    first, node, edge = neighbour_lists(n, edges)
    return dense, first, node.astype(np.int32), edge.astype(np.int32)


@jit.strict
def _search_instances(
    edges,
    dense,
    first,
    node,
    edge,
    width,
    starts,
    patience,
    lowest,
    stop,
    used,
    unary,
    pairwise,
    scale,
    symmetric,
    pool,
    values,
    stalled,
    random,
):
    """More runs for the instances that are used, whose elites are in pool [batch, elites, n], in the type of lowest."""
    n = unary.shape[1]
    side, entries = (n, 0) if dense else (0, node.shape[0])
    field = np.full(width, lowest)
    graph = (np.zeros((side, width), field.dtype), first, node, np.zeros(entries, field.dtype))
    for b in range(unary.shape[0]):
        if used[b] and not (stop[0] and values[b].max() > -np.inf):
            elites = pool[b], values[b], stalled[b : b + 1], symmetric[b]
            _load(scale[b], lowest > -np.inf, unary[b], pairwise[b], edges, edge, field, graph)
            _search(starts, patience, lowest, field, graph, elites, random[b : b + 1], stop)


@jit.strict
def _scales(edges, unary, pairwise):
    """Of every instance what `_scale` says."""
    batch = unary.shape[0]
    scale, coarse, symmetric = np.ones(batch), np.empty(batch, np.bool_), np.empty(batch, np.bool_)
    for b in range(batch):
        power, coarse[b], symmetric[b] = _scale(unary[b], pairwise[b], edges)
        if coarse[b]:
            scale[b] = power
    return scale, coarse, symmetric


@jit.strict_inner
def _scale(unary, pairwise, edges):
    """A power of two that brings all gains near 2^30; whether rounding then keeps what matters.

    And whether flipping all variables keeps every score, as in maximum cuts.
    """
    reach = np.abs(unary).astype(np.float64)
    skew = 2.0 * unary
    for k in range(pairwise.shape[0]):
        size = abs(np.float64(pairwise[k]))
        for i in edges[k]:
            reach[i] += size
            skew[i] += pairwise[k]
    largest = reach.max()
    symmetric = np.abs(skew).max() <= 1e-9 * largest
    if largest == 0.0:
        return 1.0, True, symmetric
    exponent = np.floor(np.log2(LARGEST_GAIN / largest))
    if abs(exponent) > 1000.0:
        return 1.0, False, symmetric
    scale = 2.0**exponent
    nonzero = coarse = 0
    for values in (unary, pairwise):
        for k in range(values.shape[0]):
            scaled = abs(np.float64(values[k]) * scale)
            nonzero += scaled > 0.0
            coarse += (scaled < 4096.0) & (scaled != np.rint(scaled))
    return scale, 16 * coarse <= nonzero, symmetric


@jit.strict_inner
def _load(scale, rounded, unary, pairwise, edges, edge, field, graph):
    """The scores times scale in the type of field; pairwise ones as a matrix or along the adjacency."""
    rows, _, _, weight = graph
    for i in range(unary.shape[0]):
        score = np.float64(unary[i]) * scale
        field[i] = np.rint(score) if rounded else score
    if rows.shape[0]:
        for k in range(pairwise.shape[0]):
            score = np.float64(pairwise[k]) * scale
            score = np.rint(score) if rounded else score
            rows[edges[k, 0], edges[k, 1]] = score
            rows[edges[k, 1], edges[k, 0]] = score
    else:
        for entry in range(weight.shape[0]):
            score = np.float64(pairwise[edge[entry]]) * scale
            weight[entry] = np.rint(score) if rounded else score


@jit.strict_inner
def _search(starts, patience, lowest, field, graph, elites, random, stop):
    """Tabu runs, first from random states, then from near or between the elites found."""
    pool, values, stalled, symmetric = elites
    gains, signs = np.empty_like(field), np.ones_like(field)
    scratch = (np.empty(field.shape[0], np.int32), np.empty_like(field))
    z = np.empty(pool.shape[1], np.int8)
    for _ in range(starts):
        if values.min() == -np.inf:
            for i in range(z.shape[0]):
                z[i] = below(2, random_bits(random))
            score = load_state(z, field, gains, signs, graph)
            if z.shape[0] >= SWEPT_FROM or stop[0]:
                score += descend(gains, signs, graph)
        else:
            if stop[0]:
                return
            score = _restart(pool, field, gains, signs, lowest, scratch, graph, random)
        score = tabu_run(score, patience, gains, signs, z, lowest, scratch, graph, random, stop)
        stalled[0] = 0 if _admit(z, score, pool, values, symmetric) else stalled[0] + 1
        if stalled[0] >= STALLED_STARTS:
            stalled[0] = 0
            best = values.argmax()
            for slot in range(values.shape[0]):
                if slot != best:
                    values[slot] = -np.inf


@jit.strict_inner
def _restart(pool, field, gains, signs, lowest, scratch, graph, random):
    """A state on the way from one elite to another, or some random flips away from one; its score."""
    n = pool.shape[1]
    bits = random_bits(random)
    a, b = below(pool.shape[0], bits), below(pool.shape[0], bits >> 20)
    score = load_state(pool[a], field, gains, signs, graph)
    apart = 0
    for i in range(n):
        apart += pool[a, i] != pool[b, i]
    bits >>= 40
    if apart > 8 and bits & 1:
        steps = apart // 3 + below(apart // 3 + 1, bits)
        return score + walk_towards(pool[b], steps, gains, signs, lowest, scratch, graph, random)
    for _ in range(3 + n // 20 + below(n // 5 + 1, bits)):
        score += flip(below(n, random_bits(random)), gains, signs, graph)
    return score


@jit.strict_inner
def _admit(z, score, pool, values, symmetric):
    """Puts z in place of the worst elite if it is better and new; returns whether it did.

    If symmetric, z and its complement are one state, taken in the form nearer to the best elite.
    """
    worst = values.argmin()
    if score <= values[worst]:
        return False
    if symmetric and 2 * np.count_nonzero(z != pool[values.argmax()]) > z.shape[0]:
        z[:] = 1 - z
    for slot in range(values.shape[0]):
        if values[slot] == score and np.array_equal(pool[slot], z):
            return False
    pool[worst] = z
    values[worst] = score
    return True
