"""Alternate a semidefinite bound with a local search, from the start until the deadline."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...limits.deadline import Deadline, now
from ...limits.progress import Known
from ...problems.problem import Problem
from ..branch_and_bound.search import search_dense
from ..cycle_cuts.max_cut import MaxCut
from ..local_search.improvement import Improvement
from ..local_search.warm_start import first_state
from .relaxation import Relaxation

FIRST_SECONDS = 0.1
"""Seconds of the first local search of a large problem, after a start that takes less."""

FIRST_SHARE = 0.2
"""Maximum share of the remaining time for this local search."""

ROUNDS = 8
"""Updates of the multipliers between two bounds that are proved."""

STALLED = 0.02
"""Least decrease of the gap, as a share of it, from one proof to the next, that counts as one."""

PATIENCE = 2
"""Number of proofs in a row without such a decrease after which the bound is final."""

FEW_PROOFS = 2
"""Number of proofs before branch and bound takes over small problems."""

BRANCHED = 600
"""Variables up to which a search over convex bounds may still close the remaining gap."""


def search_semidefinite(
    problem: Problem, deadline: Deadline, start: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Search for the best state `[n]`; return it and an upper bound on the score of all states.

    The local search takes about half of the time at any moment. Without a time limit, and for small
    problems, branch and bound closes the gap that the bound leaves.

    Args:
        problem: a single instance on the host.
        deadline: time at which the search ends.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    z = first_state(problem, start, deadline)
    cut = MaxCut.of(problem)
    if not len(cut.weights):
        return z, cut.score_bound(0)
    search = _Alternation(problem, cut, z)
    # Branch and bound closes the gap of a small problem, so a few bounds are enough.
    proofs: float = FEW_PROOFS
    if problem.n > BRANCHED:
        proofs = math.inf
        search.improve(min(FIRST_SECONDS, FIRST_SHARE * deadline.left), deadline)
    search.tighten(deadline, proofs)
    if search.finished or deadline.passed:
        return search.z, search.bound
    if deadline.limited and problem.n > BRANCHED:
        search.improve(deadline.left, deadline)
        return search.z, search.bound
    z, bound, _ = search_dense(problem, deadline.within_whole(problem, search.news), search.z)
    return z, min(bound, search.bound)


class _Alternation:
    """The state and the bound of one instance, and the searches that improve them.

    Attributes:
        z: `[n]`, the best state so far.
    """

    def __init__(self, problem: Problem, cut: MaxCut, z: np.ndarray) -> None:
        self.z = z
        self._problem = problem
        self._cut = cut
        self._relaxation = Relaxation(cut)
        self._local_search = Improvement(problem)

    @property
    def bound(self) -> float:
        """An upper bound on all scores."""
        return self._cut.score_bound(self._relaxation.bound)

    @property
    def finished(self) -> bool:
        """Whether no state is better by more than the margin."""
        return self._gap <= self._cut.margin

    def tighten(self, deadline: Deadline, proofs: float) -> None:
        """Tighten the bound until it stalls, and improve the state for as long in between.

        Args:
            deadline: time at which the search ends.
            proofs: maximum number of bounds that are proved.
        """
        patience = PATIENCE
        proved = 0
        while not self.finished and patience and not deadline.passed:
            before = self._relaxation.bound
            begin = now()
            self._relaxation.prove(deadline)
            self._tell(deadline)
            # The local search gets as much time as the bound has just taken.
            self.improve(now() - begin, deadline)
            proved += 1
            if proved >= proofs or not self._relaxation.has_cycles:
                break
            gain = before - self._relaxation.bound
            if gain >= STALLED * self._gap:
                patience = PATIENCE
            else:
                patience -= 1
            # The cycles of edges are used up. Chords shorten
            # long cycles and so give new inequalities.
            if not patience and not self._relaxation.has_chords:
                self._relaxation.add_chords()
                patience = PATIENCE
            self._update(deadline)

    def _update(self, deadline: Deadline) -> None:
        """Update the multipliers some times, and improve the state for as long."""
        for _ in range(ROUNDS):
            if self.finished or deadline.passed:
                break
            begin = now()
            self._relaxation.tighten(deadline)
            self.improve(now() - begin, deadline)

    def improve(self, seconds: float, deadline: Deadline) -> None:
        """Search for a better state for some seconds."""
        soon = deadline.within(seconds).within_whole(self._problem, self.news)
        self.z = self._local_search.improved(self.z, soon)
        self._tell(deadline)

    def news(self, news: Known) -> Known:
        """Return news of a search for states, with the bound."""
        bounds = np.array([self.bound])
        if news.bound is not None:
            bounds = np.minimum(bounds, news.bound)
        return news._replace(bound=bounds)

    def _tell(self, deadline: Deadline) -> None:
        deadline.tell(partial(Known.of, self.z, self.bound))

    @property
    def _gap(self) -> int:
        return self._relaxation.bound - self._cut.weight(self.z)
