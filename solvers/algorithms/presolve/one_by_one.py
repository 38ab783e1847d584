"""A batch for backends that take one instance at a time: reduced first, then under one time limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...compiled.scores import scores_of
from ...limits.deadline import Deadline, now
from ...limits.interrupts import in_threads
from ...limits.progress import Known
from ...problem import Problem
from ...solution import Maximiser
from ..local_search.improvement import improved
from ..local_search.tabu import tabu_search
from .decomposition import decompose, single_instance
from .roof_duality import RoofDuality, halved, roof_duality
from .rules import RULES

SolveOne: TypeAlias = Callable[[Problem, Deadline, np.ndarray | None], tuple[np.ndarray, float]]
"""(a single instance, when to end, a state `[n]` to start from or None) -> its assignment `[n]` and an
upper bound on its score."""

SPARSE_DEGREE = 20
"""Up to this mean degree roof duality fixes variables and rules take some out; above they take time alone."""

MOST_CLIMBED = 2_000_000
"""Variables and pairs of unreached instances for which flips climb from random states: hundredths of a second."""

IMPROVED_SHARE, LEAST_IMPROVED, MOST_IMPROVED = 0.1, 0.02, 30.0
"""Of the time that a part of an instance gets, for a better state where its search ends without a proof; in seconds,
what is worth beginning, and the most."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What is known of one instance in the end.

    Attributes:
        z: `[n]`, -1 where nothing is known of an instance that was not reached.
        bound: no score is larger.
        reached: whether it was begun before the time was up.
        parts: that were left to the backend.
        searched: how many variables they have.
        removed: how many nodes each of `RULES` took out.
    """

    z: np.ndarray
    bound: float
    reached: bool = True
    parts: int = 0
    searched: int = 0
    removed: np.ndarray = field(default_factory=lambda: np.zeros(len(RULES), np.int64))


def one_by_one(
    problem: Problem,
    time_limit: float | None,
    solve_one: SolveOne,
    threads: int = 1,
    start: States | None = None,
) -> Maximiser:
    """Fixes what roof duality fixes, takes out what the rules take out, then solves the parts that are left.

    Both are done in sparse problems alone.

    What is not proved within most of a time limit gets the better state that local search may find
    in the rest. Instances that the time limit cuts off get the fixed values, elsewhere the best of
    `start`, zeros, what `halved` says and a local maximum, and the roof-dual bound.

    Args:
        problem: coefficients on the host.
        time_limit: seconds for the batch.
        solve_one: the backend.
        threads: instances at once, for a backend that releases the interpreter's lock.
        start: `[batch, n]`, states to start from.
    """
    deadline = Deadline.after(time_limit)
    sparse = 2 * problem.e <= SPARSE_DEGREE * problem.n
    roof = roof_duality(problem, deadline) if sparse else RoofDuality.free(problem)
    searched, solve_one = _by_parts if sparse else _at_once, partial(_then_improved, solve_one)

    def solve(instance: int) -> Answer:
        first = None if start is None else start[instance]
        fixed = roof.fixed[instance]
        if (fixed >= 0).all():
            return Answer(fixed, roof.bound[instance])
        if deadline.passed:
            return Answer(fixed, roof.bound[instance], reached=False)
        single = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
        mine = deadline.within_whole(single, lambda known: _of_instance(known, instance, roof))
        answer = searched(single, fixed, mine, solve_one, first)
        return replace(answer, bound=_with_roof(roof, instance, answer.bound))

    pairs = problem.topology.pairs
    calls = [partial(solve, instance) for instance in range(problem.batch)]
    answers = (
        in_threads(calls, threads)
        if min(threads, problem.batch) > 1
        else [call() for call in calls]
    )
    z = np.array([answer.z for answer in answers], np.int8)
    reached = np.array([answer.reached for answer in answers])
    if not reached.all():
        late = slice(int(np.argmin(reached)), None)
        guessed = _unsearched(
            problem.instances(late), roof.fixed[late], None if start is None else start[late]
        )
        z[late] = np.where(reached[late, None], z[late], guessed)
    return Maximiser(z, np.array([answer.bound for answer in answers]), _stats(roof, answers))


def _with_roof(roof: RoofDuality, instance: int, bound: float) -> float:
    """The least bound of an instance, by that of a search for what roof duality left."""
    if roof.loss[instance] and (roof.fixed[instance] >= 0).any():
        bound = math.nextafter(bound + roof.loss[instance], math.inf)
    return min(float(roof.bound[instance]), bound)


def _of_instance(known: Known, instance: int, roof: RoofDuality) -> Known:
    """What is known of a batch, by what a search of one of its instances tells."""
    bound = (
        None
        if known.bound is None
        else np.array([_with_roof(roof, instance, float(known.bound[0]))])
    )
    return Known(known.z, bound, slice(instance, instance + 1))


def _then_improved(
    solve_one: SolveOne, problem: Problem, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """A part by the backend, and where the time does not suffice for a proof, the better state of a local search.

    What comes after a search takes no longer than its share of it, so that a short turn of a long
    limit stays one.
    """
    if deadline.left == math.inf:
        return solve_one(problem, deadline, start)
    begin, most = now(), min(IMPROVED_SHARE * deadline.left, MOST_IMPROVED)
    z, bound = solve_one(problem, deadline.within(deadline.left - most), start)
    if bound - problem.score_flat(z[None])[0] <= problem.rounding[0]:
        return z, bound
    seconds = min(IMPROVED_SHARE / (1 - IMPROVED_SHARE) * (now() - begin), most, deadline.left)
    return (
        improved(problem, z, deadline.within(seconds)) if seconds >= LEAST_IMPROVED else z
    ), bound


def _unsearched(problem: Problem, fixed: States, start: States | None) -> States:
    """`[batch, n]`: the best of the states that need no search, with the values `fixed [batch, n]` where not -1."""
    others = [halved(problem)[0], np.zeros_like(fixed)] + ([] if start is None else [start])
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
    """One instance by the backend alone."""
    state, proved = solve_one(problem, deadline, first)
    return Answer(state, proved, parts=1, searched=problem.n)


def _by_parts(
    problem: Problem,
    fixed: np.ndarray,
    deadline: Deadline,
    solve_one: SolveOne,
    first: np.ndarray | None,
) -> Answer:
    """One instance: what the rules leave of it by the backend, each part within its share of the time."""
    whole = decompose(
        problem.unary[0], problem.pairwise[0], problem.edges, fixed, deadline=deadline
    )
    given = None if first is None else whole.states(first)
    sizes = [part.problem.n for part in whole.parts]
    states = [np.zeros(size, np.int8) for size in sizes] if given is None else list(given)
    bounds = [math.inf] * len(sizes)

    def known_of_all(k: int, known: Known) -> Known:
        here = states if known.z is None else [*states[:k], known.z[0], *states[k + 1 :]]
        proved = (
            bounds
            if known.bound is None
            else [*bounds[:k], float(known.bound[0]), *bounds[k + 1 :]]
        )
        return Known.of(whole.state(here), whole.bound(proved))

    for k, part in enumerate(whole.parts):
        share = deadline.within(deadline.left * sizes[k] / sum(sizes[k:]))
        share = share.within_whole(part.problem, partial(known_of_all, k))
        states[k], bounds[k] = solve_one(part.problem, share, None if given is None else given[k])
    z = whole.state(states)
    if first is not None and problem.score_flat(first[None])[0] > problem.score_flat(z[None])[0]:
        z = first
    return Answer(
        z, whole.bound(bounds), parts=len(sizes), searched=sum(sizes), removed=whole.removed
    )


def _stats(roof: RoofDuality, answers: list[Answer]) -> dict[str, int | float]:
    """What was fixed, taken out and left, of all instances."""
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
