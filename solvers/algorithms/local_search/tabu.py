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
) -> States:
    """Return the best assignments of the search, `[batch, n]` int8, without a certificate.

    Without a time limit the answer only depends on the seed, not on the threads.

    Args:
        unary: `[batch, n]`, float32 or float64.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`, distinct pairs.
        starts: tabu runs per instance; with a deadline, runs between two checks of it.
        seed: seed of the random numbers, >= 0.
        flips: number of flips without a new best after which a run ends; None for a default that
            grows with n.
        deadline: time at which the search ends; None for `starts` runs. An instance that the
            deadline cuts off gets a local maximum near a random state.
        threads: maximum number of threads; None for all cores.
    """
    search = TabuSearch(unary, pairwise, edges, seed, flips, threads)
    if deadline is None:
        return search.run(starts, Deadline.after(None))
    return search.run_until(deadline, starts)


class TabuSearch:
    """A search that can be stopped and resumed; its elite states stay."""

    def __init__(
        self,
        unary: Unary,
        pairwise: Pairwise,
        edges: Edges,
        seed: int = 0,
        flips: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Prepare the search without any run; the arguments are those of `tabu_search`."""
        batch, n = unary.shape
        self._flips = flips or default_flips(n)
        self._threads = threads
        self._edges = plain(edges)
        self._graph = _adjacency(edges, n)
        self._pool = np.zeros((batch, ELITES, n), np.int8)
        self._values = np.full((batch, ELITES), -np.inf)
        stalled = np.zeros(batch, np.int64)
        random = random_states(batch, np.random.default_rng(seed))
        # If integers keep the relevant digits, instances search in integers, which is faster.
        scores = [np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise)]
        scale, self._coarse, symmetric = _scales(edges, *scores)
        self._state = [*scores, scale, symmetric, self._pool, self._values, stalled, random]
        self._run_nanoseconds = nanoseconds_a_run(n, self._flips)

    @property
    def best(self) -> States:
        """The best states `[batch, n]` so far; zeros before the first run."""
        return _best(self._pool, self._values)

    def run(self, starts: int, deadline: Deadline) -> States:
        """Make some runs of each instance; the deadline may cut them short.

        Returns:
            `[batch, n]`, the best states so far.
        """
        with deadline.flag(1e-9 * starts * len(self._pool) * self._run_nanoseconds) as stop:
            self._search(starts, stop)
        return self.best

    def run_until(
        self,
        deadline: Deadline,
        starts: int = STARTS,
        report: Callable[[States], None] | None = None,
    ) -> States:
        """Run once, then `starts` times between two checks of the deadline, until it passes.

        Args:
            deadline: when to end.
            starts: number of runs between two checks.
            report: called with the best states so far at each check.

        Returns:
            `[batch, n]`, the best states so far.
        """
        with deadline.flag() as stop:
            self._search(1, stop)
            while not deadline.passed:
                if report is not None:
                    report(self.best)
                self._search(starts, stop)
        return self.best

    def _search(self, runs: int, stop: np.ndarray) -> None:
        for kernel_of_type, used in (
            (kernels.search_in_integers, self._coarse),
            (kernels.search_in_floats, ~self._coarse),
        ):
            if used.any():
                kernel = partial(kernel_of_type, self._edges, *self._graph, runs, self._flips, stop)
                work = runs * self._run_nanoseconds
                over_slices(kernel, used, *self._state, nanoseconds=work, threads=self._threads)


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
