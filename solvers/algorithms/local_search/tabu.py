"""Search by multi-start tabu search with one-flip moves, elite states and path relinking.

The search is compiled, for arrays on the host.

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
"""Runs of `local_search` without a time limit, and of the start of every exact search."""

ELITES = 8
"""States that are kept of every instance, to relink."""


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
    report: Callable[[States], None] | None = None,
) -> States:
    """Return the best assignments of the search, `[batch, n]` int8, without a certificate.

    Without a time limit the answer depends on the seed alone, not on the threads.

    Args:
        unary: `[batch, n]`, float32 or float64.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`, distinct pairs.
        starts: tabu runs per instance; with a deadline, runs between two looks at it.
        seed: seed of the random numbers, >= 0.
        flips: number of flips without a new best after which a run ends; None for a default that
            grows with n.
        deadline: when to end; None for `starts` runs. An instance that the deadline cuts off gets a
            local maximum near a random state.
        threads: maximum number of threads; None for all cores.
        once: whether to end after `starts` runs even if the deadline is later.
        report: gets the best states so far, between two looks at the deadline.
    """
    batch, n = unary.shape
    flips = flips or default_flips(n)
    graph = _adjacency(edges, n)
    pool = np.zeros((batch, ELITES, n), np.int8)
    values = np.full((batch, ELITES), -np.inf)
    stalled = np.zeros(batch, np.int64)
    random = random_states(batch, np.random.default_rng(seed))
    # Instances search in integers where these keep what matters, which is faster, else in floats.
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
    seconds = np.inf if until_then else starts * work
    first_runs = 1 if until_then else starts
    with deadline.flag(seconds) as stop:
        search(first_runs, stop)
        # With a deadline, `starts` more runs follow again and again; the elites stay.
        while until_then and not deadline.passed:
            if report is not None:
                report(_best(pool, values))
            search(starts, stop)
    return _best(pool, values)


def _best(pool: np.ndarray, values: np.ndarray) -> States:
    """Return the best states `[batch, n]` of the elites `[batch, elites, n]`, by their values."""
    best: States = pool[np.arange(len(pool)), np.argmax(values, axis=1)]
    return best


def default_flips(n: int) -> int:
    """Return the number of flips without a new best after which a run ends."""
    return 50 + 2 * n


def nanoseconds_a_run(n: int, flips: int) -> float:
    """Estimate the work of a run that ends after `flips` flips without a new best.

    It makes about twice as many flips.
    """
    return 2 * flips * (40 + 0.2 * n)


def _adjacency(edges: Edges, n: int) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray]:
    """Return whether to treat the graph as dense, and else its adjacency in compressed rows.

    The adjacency is first `[n + 1]`, node `[2e]` and edge `[2e]`.
    """
    dense = 2 * len(edges) > 0.08 * n * n and n <= 8192
    if dense:
        return dense, np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    first, node, edge = neighbour_lists(n, edges)
    return dense, first, node.astype(np.int32), edge.astype(np.int32)


def _scales(
    edges: Edges, unary: np.ndarray, pairwise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `[batch]` each: scale, whether integers suffice, whether complements score equal."""
    batch = len(unary)
    scale = np.empty(batch)
    coarse = np.empty(batch, np.bool_)
    symmetric = np.empty(batch, np.bool_)
    kernels.find_scales(plain(edges), unary, pairwise, scale, coarse, symmetric)
    return scale, coarse, symmetric
