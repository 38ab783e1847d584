"""Multi-start tabu search with one-flip moves, elite states and path relinking; compiled, for the host.

References:
    Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic
    problems. Wang, Lü, Glover, Hao (2012), Path relinking for unconstrained binary quadratic
    programming.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Edges, Pairwise, States, Unary
from ...compiled._kernels import local_search as kernels
from ...compiled.graphs import neighbour_lists
from ...compiled.plain import plain
from ...compiled.random import random_states
from ...compiled.threads import over_slices
from ...limits.deadline import Deadline

STARTS = 4
"""Runs from which `local_search` answers without a time limit, and which every exact search begins with."""
ELITES = 8


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
        flips: a run ends after so many flips without a new best; None for a default that grows with
            n.
        deadline: when to end; an instance that it cuts off has a local maximum near a random state.
            None for `starts` runs.
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
        for kernel_of_type, used in (
            (kernels.search_in_integers, coarse),
            (kernels.search_in_floats, ~coarse),
        ):
            if used.any():
                kernel = partial(kernel_of_type, plain(edges), *graph, runs, flips, stop)
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


def _scales(
    edges: Edges, unary: np.ndarray, pairwise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`[batch]` each: a scale, whether integers keep what matters at it, and whether a complement scores the same."""
    batch = len(unary)
    scale, coarse, symmetric = np.empty(batch), np.empty(batch, np.bool_), np.empty(batch, np.bool_)
    kernels.find_scales(plain(edges), unary, pairwise, scale, coarse, symmetric)
    return scale, coarse, symmetric
