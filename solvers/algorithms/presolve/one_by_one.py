"""Solve a batch with a backend that takes one instance at a time: reduce it first, then search."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...compiled.scores import scores_of
from ...limits.deadline import Deadline, now
from ...limits.interrupts import run_calls
from ...limits.progress import Known
from ...problems.problem import Problem
from ...solution import Maximiser
from ..local_search.improvement import improved
from ..local_search.tabu import tabu_search
from .decomposition import decompose, single_instance
from .roof_duality import RoofDuality, halved, roof_duality
from .rules import RULES

SolveOne: TypeAlias = Callable[[Problem, Deadline, np.ndarray | None], tuple[np.ndarray, float]]
"""Solve one instance: (single instance, deadline, state `[n]` to start from or None) -> answer.

The answer is a state `[n]` and an upper bound on the score."""

SPARSE_DEGREE = 20
"""Largest mean degree at which roof duality and the rules are tried; above, they rarely help."""

MOST_CLIMBED = 2_000_000
"""Largest number of variables and pairs of unreached instances that start with random climbs.

The climbs of that many take hundredths of a second."""

IMPROVED_SHARE = 0.1
"""Share of a part's time for a local search if the exact search ends without a certificate."""

LEAST_IMPROVED = 0.02
"""Least time, in seconds, for which such a local search is worthwhile."""

MOST_IMPROVED = 30.0
"""Maximum time, in seconds, of such a local search."""

_IMPROVED_LATER: ContextVar[bool] = ContextVar("solvers_improved_later", default=False)
"""Whether the solver around a backend, a portfolio, improves the state after the backend."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of one instance.

    Attributes:
        z: `[n]`, -1 where an instance was not reached and roof duality did not fix the variable.
        bound: an upper bound on the score.
        reached: whether the search of the instance began before the deadline.
        parts: number of parts that were left to the backend.
        searched: number of variables in these parts.
        removed: `[rules]`, number of nodes that each of `RULES` took out.
    """

    z: np.ndarray
    bound: float
    reached: bool = True
    parts: int = 0
    searched: int = 0
    removed: np.ndarray = field(default_factory=lambda: np.zeros(len(RULES), np.int64))


def one_by_one(
    problem: Problem,
    deadline: Deadline,
    solve_one: SolveOne,
    threads: int = 1,
    start: States | None = None,
) -> Maximiser:
    """Reduce every instance by roof duality and the rules, then solve the remaining parts.

    Only sparse problems are reduced.

    If the backend ends without an optimality certificate, a local search looks for a better state
    in the last tenth of the time. Instances that the time limit cuts off get the fixed values and
    the roof-dual bound. Their other variables come from the best of `start`, zeros, the state of
    `halved` and a local maximum.

    Args:
        problem: the batch, with coefficients on the host.
        deadline: the deadline of the batch.
        solve_one: the backend, called for one part.
        threads: number of instances at once, for a backend that releases the interpreter's lock.
        start: `[batch, n]`, states to start from.
    """
    search: Callable[..., Answer]
    sparse = 2 * problem.e <= SPARSE_DEGREE * problem.n
    if sparse:
        roof = roof_duality(problem, deadline)
        search = _by_parts
    else:
        roof = RoofDuality.free(problem)
        search = _at_once
    solve_part = partial(_then_improved, solve_one)

    def solve(instance: int) -> Answer:
        first = _rows(start, instance)
        fixed = roof.fixed[instance]
        if (fixed >= 0).all():
            return Answer(fixed, roof.bound[instance])
        if deadline.passed:
            return Answer(fixed, roof.bound[instance], reached=False)
        single = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
        mine = deadline.within_whole(single, lambda news: _of_instance(news, instance, roof))
        answer = search(single, fixed, mine, solve_part, first)
        return replace(answer, bound=_with_roof(roof, instance, answer.bound))

    pairs = problem.topology.pairs
    calls = [partial(solve, instance) for instance in range(problem.batch)]
    answers = run_calls(calls, threads)
    z = np.array([answer.z for answer in answers], np.int8)
    reached = np.array([answer.reached for answer in answers])
    if not reached.all():
        # Calls in threads end in any order, so some
        # instances after the first late one have a state.
        late = slice(int(np.argmin(reached)), None)
        guessed = states_without_search(
            problem.instances(late), roof.fixed[late], _rows(start, late)
        )
        z[late] = np.where(reached[late, None], z[late], guessed)
    return Maximiser(z, np.array([answer.bound for answer in answers]), _stats(roof, answers))


def _rows(start: States | None, place: int | slice) -> np.ndarray | None:
    """Return the initial states of some instances; None without any."""
    if start is None:
        return None
    rows: np.ndarray = start[place]
    return rows


def _with_roof(roof: RoofDuality, instance: int, bound: float) -> float:
    """Return the least bound of an instance, given that of a search in its reduced problem."""
    if roof.loss[instance] and (roof.fixed[instance] >= 0).any():
        bound = math.nextafter(bound + roof.loss[instance], math.inf)
    return min(float(roof.bound[instance]), bound)


def _of_instance(news: Known, instance: int, roof: RoofDuality) -> Known:
    """Return news of a batch, from news of a search in one of its instances."""
    bound = None
    if news.bound is not None:
        bound = np.array([_with_roof(roof, instance, float(news.bound[0]))])
    return Known(news.z, bound, slice(instance, instance + 1))


def _then_improved(
    solve_one: SolveOne, problem: Problem, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Solve a part by the backend, and improve its state if there is no certificate.

    The local search takes a fixed share of the time that the backend took, so that a short run
    within a long limit stays short. The backends of a portfolio leave it to the portfolio.
    """
    if deadline.left == math.inf or _IMPROVED_LATER.get():
        return solve_one(problem, deadline, start)
    begin = now()
    most = min(IMPROVED_SHARE * deadline.left, MOST_IMPROVED)
    later = _IMPROVED_LATER.set(True)
    try:
        z, bound = solve_one(problem, deadline.within(deadline.left - most), start)
    finally:
        _IMPROVED_LATER.reset(later)
    # The bound equals the score up to rounding, so the state cannot be improved.
    if bound - problem.score_flat(z[None])[0] <= problem.rounding[0]:
        return z, bound
    # If it gets the share s of the whole, it gets s / (1 - s) of the backend's time.
    seconds = min(IMPROVED_SHARE / (1 - IMPROVED_SHARE) * (now() - begin), most, deadline.left)
    if seconds >= LEAST_IMPROVED:
        z = improved(problem, z, deadline.within(seconds))
    return z, bound


def states_without_search(problem: Problem, fixed: States, start: States | None = None) -> States:
    """Return the best states `[batch, n]` that need no search, with the values of `fixed`.

    Args:
        problem: the batch, with coefficients on the host.
        fixed: `[batch, n]`, -1 for a free variable.
        start: `[batch, n]`, states of the caller.
    """
    others = [halved(problem)[0], np.zeros_like(fixed)]
    if start is not None:
        others.append(start)
    arrays = problem.unary, problem.pairwise, problem.topology.pairs
    if problem.batch * (problem.n + problem.e) <= MOST_CLIMBED:
        others.append(tabu_search(*arrays, deadline=Deadline.after(-1.0)))
    states = np.stack([np.where(fixed < 0, other, fixed) for other in others]).astype(np.int8)
    scores = [scores_of(*arrays, z) for z in states]
    return np.asarray(states[np.argmax(scores, axis=0), np.arange(problem.batch)])


def _at_once(
    problem: Problem,
    _: np.ndarray,
    deadline: Deadline,
    solve_one: SolveOne,
    first: np.ndarray | None,
) -> Answer:
    """Solve one instance by the backend, without reducing it."""
    state, proved = solve_one(problem, deadline, first)
    return Answer(state, proved, parts=1, searched=problem.n)


def _by_parts(
    problem: Problem,
    fixed: np.ndarray,
    deadline: Deadline,
    solve_one: SolveOne,
    first: np.ndarray | None,
) -> Answer:
    """Reduce one instance by the rules, then solve every part within its share of the time."""
    whole = decompose(
        problem.unary[0], problem.pairwise[0], problem.edges, fixed, deadline=deadline
    )
    starts = None
    if first is not None:
        starts = whole.states(first)
    sizes = [piece.problem.n for piece in whole.parts]
    if starts is None:
        states = [np.zeros(size, np.int8) for size in sizes]
    else:
        states = list(starts)
    bounds = [math.inf] * len(sizes)

    def news_of_all(k: int, news: Known) -> Known:
        # News of a part is news of the whole, with the
        # present states and bounds of the other parts.
        here = list(states)
        proved = list(bounds)
        if news.z is not None:
            here[k] = news.z[0]
        if news.bound is not None:
            proved[k] = float(news.bound[0])
        return Known.of(whole.state(here), whole.bound(proved))

    for k, piece in enumerate(whole.parts):
        # A share of the remaining time by size; time that a part does not use passes to the next.
        share = deadline.within(deadline.left * sizes[k] / sum(sizes[k:]))
        share = share.within_whole(piece.problem, partial(news_of_all, k))
        start = None
        if starts is not None:
            start = starts[k]
        states[k], bounds[k] = solve_one(piece.problem, share, start)
    z = whole.state(states)
    # The parts are solved in rounded units, which may rank the user's state too low.
    if first is not None and problem.score_flat(first[None])[0] > problem.score_flat(z[None])[0]:
        z = first
    return Answer(
        z, whole.bound(bounds), parts=len(sizes), searched=sum(sizes), removed=whole.removed
    )


def _stats(roof: RoofDuality, answers: list[Answer]) -> dict[str, int | float]:
    """Return counts of fixed, removed and remaining variables, over all instances."""
    fixed = int((roof.fixed >= 0).sum())
    removed = np.sum([answer.removed for answer in answers], axis=0)
    return {
        "reached": sum(answer.reached for answer in answers),
        "fixed": fixed,
        "fixed_share": fixed / roof.fixed.size,
        **{f"removed_{rule}": int(count) for rule, count in zip(RULES, removed, strict=True)},
        "parts": sum(answer.parts for answer in answers),
        "searched": sum(answer.searched for answer in answers),
    }
