"""Improve a state by recombination of local optima, or by tabu search alone."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import States
from ...limits.deadline import Deadline, now
from ...limits.progress import Known
from ...problems.problem import Problem
from .recombination import recombination
from .subgraph_moves import SubgraphMoves
from .tabu import TabuSearch
from .tabu_runs import TabuRuns

SUBGRAPH_DEGREE = 6
"""Greatest mean degree of graphs that become narrow once a few variables are taken out."""

RECOMBINED_FROM = 100
"""Least n at which recombination reaches states that single flips miss."""

MOST_EDGES = 1_000_000
"""Edges up to which a tabu run, a contraction and roof duality take less than seconds."""

RECOMBINED_SHARE = 0.5
"""Maximum share of the time for the recombination of problems that are not sparse."""

IMPROVED_FROM = 0.05
"""Seconds of a search for a proof before the first local search for a better state."""

IMPROVED_AGAIN = 3.0
"""Factor by which the time must grow before the next local search."""

IMPROVED_SHARE = 0.15
"""Share of the time so far that such a local search may take."""


def is_recombined(problem: Problem) -> bool:
    """Return whether recombination reaches states that tabu search alone would miss."""
    return problem.n >= RECOMBINED_FROM and problem.e <= MOST_EDGES


def has_subgraph_moves(problem: Problem) -> bool:
    """Return whether moves of most variables at once produce the local optima."""
    return 2 * problem.e <= SUBGRAPH_DEGREE * problem.n


def recombined(problem: Problem, z: States, seed: int, deadline: Deadline) -> States:
    """Improve `z [batch, n]` instance by instance; the instances share the remaining time."""
    moves: type[SubgraphMoves | TabuRuns] = TabuRuns
    if has_subgraph_moves(problem):
        moves = SubgraphMoves
    states = z.copy()
    for instance in range(problem.batch):
        if deadline.passed:
            break
        alone = slice(instance, instance + 1)
        single = problem.instances(alone)
        # An equal share of what is left: time that an instance does not use passes to the next.
        share = deadline.within(deadline.left / (problem.batch - instance))
        soon = share.within_whole(single, partial(Known._replace, rows=alone))
        # The generator depends on the place in the batch, not on the searches before it.
        generator = np.random.default_rng([seed, instance])
        states[instance] = recombination(single, states[instance], moves, generator, soon)
    return states


def better(problem: Problem, z: States, others: States) -> States:
    """Return the better of two states of each instance, `[batch, n]`; the first on ties."""
    gains = problem.score_flat(others) > problem.score_flat(z)
    return np.where(gains[:, None], others, z)


def improved(problem: Problem, z: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Return a state that is no worse than `z [n]`, by a search on one thread until the deadline.

    Args:
        problem: a single instance on the host.
        z: `[n]` of zeros and ones.
        deadline: when to end; a step that has begun by then is completed.
    """
    return Improvement(problem).improved(z, deadline)


class Improvement:
    """A local search of one instance that can be stopped and resumed, on one thread.

    Attributes:
        problem: a single instance on the host.
    """

    def __init__(self, problem: Problem) -> None:
        """Prepare the search without any step."""
        self.problem = problem
        self._tabu: TabuSearch | None = None
        self._slices = 0

    def improved(self, z: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Return a state that is no worse than `z [n]`, and resume the search until the deadline.

        Every call recombines with other random numbers. Tabu search keeps its elite states.

        Args:
            z: `[n]` of zeros and ones.
            deadline: when to end; a step that has begun by then is completed.
        """
        best = z[None].astype(np.int8)
        if deadline.passed:
            return np.asarray(best[0])
        if is_recombined(self.problem):
            share = RECOMBINED_SHARE
            # Tabu runs recombine in one share and resume their own search in the rest.
            if has_subgraph_moves(self.problem):
                share = 1.0
            soon = deadline.within(share * deadline.left)
            best = recombined(self.problem, best, self._slices, soon)
            self._slices += 1
        if not deadline.passed:
            best = better(self.problem, best, self._by_tabu(deadline))
        return np.asarray(best[0])

    def _by_tabu(self, deadline: Deadline) -> States:
        if self._tabu is None:
            problem = self.problem
            arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
            self._tabu = TabuSearch(*arrays, threads=1)
        self._tabu.run_until(deadline, report=lambda z: deadline.tell(lambda: Known(z)))
        return self._tabu.best


class Improver:
    """Local search beside a search for a proof, which starts late in case the proof comes early.

    Until `IMPROVED_FROM` seconds it waits. Then it takes `IMPROVED_SHARE` of the time so far
    whenever the time has grown by the factor `IMPROVED_AGAIN`.

    Attributes:
        spent: seconds of all local searches so far.
    """

    def __init__(self, problem: Problem) -> None:
        """Start the clock.

        Args:
            problem: a single instance on the host.
        """
        self._search = Improvement(problem)
        self._begin = now()
        self._next = IMPROVED_FROM
        self.spent = 0.0

    @property
    def wait(self) -> float:
        """Seconds until the next local search."""
        return max(0.0, self._next - (now() - self._begin))

    def better(self, z: np.ndarray, deadline: Deadline) -> np.ndarray | None:
        """Return a state `[n]` that is no worse than `z`; None if it is too early to search."""
        begin = now()
        so_far = begin - self._begin
        if so_far < self._next:
            return None
        # The waits grow with the time so far, which limits the share of all searches together.
        self._next = IMPROVED_AGAIN * so_far
        soon = deadline.within(IMPROVED_SHARE * min(so_far, deadline.left))
        state = self._search.improved(z, soon)
        self.spent += now() - begin
        return state
