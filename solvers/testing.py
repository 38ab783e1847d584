"""Conformance kit for every solver, built-in or plugged in.

Example:
    >>> from solvers import solver_class
    >>> check_conformance(solver_class("exhaustive")(), count=20)
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from .errors import (
    InfeasibleError,
    OptionError,
    SolveFailedError,
    UnsupportedProblemError,
    shortened,
)
from .instances import Instances
from .limits.deadline import Deadline
from .problems.problem import EPSILON, Problem
from .ranking import ranked_states
from .solution import Solution
from .solver import ArgmaxSolver, CertifiedSolver


def enumerate_scores(instances: Instances) -> np.ndarray:
    """Return the scores `[batch, 2^n]` of all states, an oracle without code of the solvers.

    State s has z_i = (s >> i) & 1.
    """
    n = instances.unary.shape[1]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    pairs = states[:, instances.edges[:, 0]] & states[:, instances.edges[:, 1]]
    scores: np.ndarray = instances.unary @ states.T + instances.pairwise @ pairs.T
    return scores


def random_instances(
    count: int, max_size: int, generator: np.random.Generator, *, sign: str = "any"
) -> Iterator[Instances]:
    """Yield small batches of every kind that has broken solvers.

    Sizes are 1..max_size, with dense, sparse or no edges. Scores are normal, integer (with ties),
    all equal or zero, at scales from 1e-12 to 1e12, also within one instance. Some scores differ by
    less than float32 resolves.

    Args:
        count: how many batches of 3 instances.
        max_size: largest n.
        generator: source of randomness.
        sign: the sign of the pairwise scores: "any", "positive" or "none" (no edges).
    """
    for _ in range(count):
        n = int(generator.integers(1, max_size + 1))
        edges = np.stack(np.triu_indices(n, 1), axis=-1)
        if sign == "none":
            kept = 0.0
        else:
            kept = generator.choice([0.0, 0.3, 1.0])
        edges = edges[generator.random(len(edges)) < kept]
        draw = _DRAWS[generator.integers(len(_DRAWS))]
        scale = 10.0 ** generator.integers(-12, 13)
        unary = scale * draw((3, n), generator)
        pairwise = scale * draw((3, len(edges)), generator)
        if sign == "positive":
            pairwise = np.abs(pairwise)
        yield Instances(unary, pairwise, edges)


def _normal(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal(shape)


def _ties(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    return generator.integers(-2, 3, shape).astype(np.float64)


def _equal(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    return np.full(shape, generator.choice([-1.0, 0.0, 1.0]))


def _mixed_scales(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal(shape) * 10.0 ** generator.integers(-12, 13, shape)


def _near_ties(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    return generator.integers(-2, 3, shape) + 1e-10 * generator.standard_normal(shape)


_DRAWS = (_normal, _ties, _equal, _mixed_scales, _near_ties)


class Cases(Protocol):
    """Small batch with one leading dimension, with the scores of all its states."""

    def problem(self) -> Any:
        """Return the problem that solvers receive."""

    def scores(self) -> np.ndarray:
        """Return the scores `[batch, states]`, an oracle that shares no code with the solvers."""

    def slack(self) -> np.ndarray:
        """Return the maximum rounding error `[batch]` of a score."""

    def state_numbers(self, solution: Solution) -> np.ndarray:
        """Return the places `[batch]` of a solution's states in `scores`."""


Drawn: TypeAlias = tuple[Callable[..., Any], np.ndarray, np.ndarray, np.ndarray]
"""A function that makes a problem, and unary scores, pairwise scores and edges."""


class Kit(ABC):
    """Parts of the conformance kit that depend on the kind of problem.

    Args:
        max_size: largest n of problems over bits.
        max_states: most assignments of an instance of a problem over labels.
    """

    def __init__(self, max_size: int, max_states: int) -> None:
        self.max_size = max_size
        self.max_states = max_states

    @abstractmethod
    def cases(self, solver: Any, count: int, generator: np.random.Generator) -> Iterator[Cases]:
        """Yield small batches of every kind that has broken solvers."""

    @abstractmethod
    def drawn(self, solver: Any, generator: np.random.Generator) -> Iterator[Drawn]:
        """Yield three different instances for `check_batch`, those that solvers seldom take last.

        An exact solver gets few variables. Another one gets so many that its answer depends on its
        path, and so on other instances if they change this path.
        """

    @abstractmethod
    def check_more(self, solver: Any, problem: Any, cases: Cases) -> None:
        """Check the guarantees for a batch that only solvers of this kind give."""

    @abstractmethod
    def check_large(self, solver: Any, generator: np.random.Generator) -> None:
        """Check problems of some hundred variables, whose maxima need no enumeration."""

    @abstractmethod
    def check_refusals(self, solver: Any) -> None:
        """Check that problems beyond the capabilities raise an error."""


KITS = {"bits": "solvers.testing:BitKit", "labels": "solvers.labels.testing:LabelKit"}
"""The kit of each kind, imported when a solver of that kind is checked."""


def check_conformance(
    solver: CertifiedSolver[Any],
    *,
    count: int = 100,
    max_size: int = 10,
    max_states: int = 2_000,
    seed: int = 0,
    randomised: bool = False,
) -> None:
    """Check a solver of bits or of labels against enumeration and against itself.

    The kit checks that the score is that of z and is the maximum. A solver that is not exact may
    miss the maximum, but must not then report `optimal=True`. The bound must hold, also for sums of
    some hundred float32 scores, and if a time limit ends the search immediately. The bound of
    `best_states` must hold for all other states. A batch must give the same scores as its
    instances one by one and in another order, also beside instances of far larger scores, with the
    leading dimensions of the problem. The solver must take float32,
    and raise an error with reasons for a problem that it cannot take. Such a batch is skipped, but
    the solver has to take one of the first ten.

    Args:
        solver: a solver that is ready to use.
        count: number of random batches of 3 instances.
        max_size: largest n of enumerated problems over bits, and of those that an exact solver
            gets in a batch; enumeration costs 2^n.
        max_states: most assignments of an enumerated instance of a problem over labels.
        seed: the seed of the random instances.
        randomised: whether a solver that is not exact may answer an instance differently in a
            batch. This happens if it draws random numbers for the whole batch.

    Raises:
        AssertionError: a check fails; the message names the solver and the instance.
        OptionError: `solver` is not a solver, but for example its name.
    """
    if not isinstance(solver, CertifiedSolver):
        raise OptionError(
            f"solver must be an object, such as solver_class(name)(); got {shortened(solver)}"
        )
    module, _, attribute = KITS[solver.kind].partition(":")
    kit: Kit = getattr(importlib.import_module(module), attribute)(max_size, max_states)
    generator = np.random.default_rng(seed)
    taken = 0
    for number, cases in enumerate(kit.cases(solver, count, generator)):
        problem = cases.problem()
        with naming(solver, f", batch {number} of seed {seed}"):
            if solver.why_not(problem):
                assert is_refused(solver, problem), "why_not has reasons, and solve does not refuse"
                # A solver that rejects every batch would pass without any check.
                assert taken or number < 10, "it takes none of ten batches"
                continue
            _check_cases(kit, solver, problem, cases, stopped=taken % 5 == 0)
        taken += 1
    with naming(solver):
        for make, unary, pairwise, edges in kit.drawn(solver, generator):
            if not solver.why_not(make(unary, pairwise, edges=edges)):
                check_batch(solver, make, unary, pairwise, edges, randomised)
                break
    with naming(solver, f", {LARGE} variables with float32 scores, seed {seed}"):
        kit.check_large(solver, generator)
    with naming(solver):
        kit.check_refusals(solver)


def _check_cases(
    kit: Kit, solver: CertifiedSolver[Any], problem: Any, cases: Cases, stopped: bool
) -> None:
    scores = cases.scores()
    if not (scores.max(axis=1) > -np.inf).all():
        _check_infeasible(solver, problem)
        return
    expected = scores, cases.state_numbers, cases.slack()
    check_answers(solver, problem, *expected)
    if stopped:
        check_stopped(solver, problem, *expected)
        kit.check_more(solver, problem, cases)


def _check_infeasible(solver: CertifiedSolver[Any], problem: Any) -> None:
    try:
        solver.solve(problem)
    except InfeasibleError:
        return
    raise AssertionError("every assignment is forbidden, and it answers")


@dataclass(frozen=True, eq=False)
class BitCases:
    """Random instances over bits in the form of the kit.

    Attributes:
        instances: of three.
    """

    instances: Instances

    def problem(self) -> Problem[np.ndarray]:
        """Return the problem that solvers receive."""
        return self.instances.problem()

    def scores(self) -> np.ndarray:
        """Return the scores `[3, 2^n]` of all states."""
        return enumerate_scores(self.instances)

    def slack(self) -> np.ndarray:
        """Return the maximum rounding error `[3]` of a score, without code of the solvers."""
        unary = self.instances.unary
        pairwise = self.instances.pairwise
        magnitude = np.abs(unary).sum(axis=1) + np.abs(pairwise).sum(axis=1)
        slack: np.ndarray = 2 * EPSILON * (unary.shape[1] + pairwise.shape[1]) * magnitude
        return slack

    def state_numbers(self, solution: Solution) -> np.ndarray:
        """Return the places `[3]` of a solution's states in `scores`."""
        assert np.isin(solution.z, (0, 1)).all(), "z is not binary"
        powers = np.arange(solution.z.shape[1])
        numbers: np.ndarray = (solution.z.astype(np.int64) << powers).sum(axis=1)
        return numbers


class BitKit(Kit):
    """Conformance kit for solvers of bits."""

    def cases(
        self, solver: ArgmaxSolver, count: int, generator: np.random.Generator
    ) -> Iterator[Cases]:
        """Yield small batches within the capabilities of a solver."""
        size = min(self.max_size, solver.capabilities.max_size or self.max_size)
        for instances in random_instances(count, size, generator, sign=_sign_for(solver)):
            yield BitCases(instances)

    def drawn(self, solver: ArgmaxSolver, generator: np.random.Generator) -> Iterator[Drawn]:
        """Yield normal scores of all pairs, of a chain, and one more small batch."""
        n = SEARCHED
        if solver.capabilities.exact:
            n = self.max_size
        n = min(n, solver.capabilities.max_size or n)
        sign = _sign_for(solver)
        every = np.stack(np.triu_indices(n, 1), axis=-1)
        chain = every[every[:, 1] == every[:, 0] + 1]
        for edges in (every, chain):
            if sign == "none":
                edges = edges[:0]
            unary = generator.standard_normal((3, n))
            pairwise = generator.standard_normal((3, len(edges)))
            if sign == "positive":
                pairwise = np.abs(pairwise)
            yield Problem.from_arrays, unary, pairwise, edges
        drawn = next(random_instances(1, 5, generator, sign=sign))
        yield Problem.from_arrays, drawn.unary, drawn.pairwise, drawn.edges

    def check_more(self, solver: ArgmaxSolver, problem: Problem, cases: Cases) -> None:
        """Check the bound of `best_states`."""
        _check_several(solver, problem, cases.scores(), cases.slack())

    def check_large(self, solver: ArgmaxSolver, generator: np.random.Generator) -> None:
        """Check sums of some hundred float32 scores, without pairs and on a chain.

        Without pairs, the maximum is the sum of the positive scores. The chain has no negative
        scores, so the maximum is the sum of all scores.
        """
        unary = generator.standard_normal((3, LARGE)).astype(np.float32)
        pairwise = generator.random((3, LARGE - 1)).astype(np.float32)
        chain = np.stack([np.arange(LARGE - 1), np.arange(1, LARGE)], axis=1)
        alone = Instances(unary, pairwise[:, :0], chain[:0])
        for instances in (alone, Instances(np.abs(unary), pairwise, chain)):
            positive = np.maximum(np.hstack([instances.unary, instances.pairwise]), 0)
            check_large_answer(
                solver,
                instances.problem(),
                exact_sums(positive),
                partial(_scores_of, instances),
                BitCases(instances).slack(),
            )

    def check_refusals(self, solver: ArgmaxSolver) -> None:
        """Check that problems beyond the capabilities raise an error."""
        can = solver.capabilities
        wrong = []
        if can.max_size is not None:
            wrong.append(Problem.from_arrays(np.ones(can.max_size + 1)))
        if not can.pairwise or can.supermodular_only:
            scores = np.array([1.0, 1.0, -1.0])
            wrong.append(Problem.from_arrays(np.ones(3), scores, edges=[[0, 1], [1, 2], [0, 2]]))
        for problem in wrong:
            assert solver.why_not(problem), "why_not is empty for a problem beyond the capabilities"
            assert is_refused(solver, problem), "a problem beyond the capabilities was not refused"


def exact_sums(rows: np.ndarray) -> np.ndarray:
    """Return the sums `[batch]` of the rows, each rounded once."""
    return np.array([math.fsum(row) for row in rows.tolist()])


def _scores_of(instances: Instances, solution: Solution) -> np.ndarray:
    z = solution.z
    assert np.isin(z, (0, 1)).all(), "z is not binary"
    pairs = z[:, instances.edges[:, 0]] & z[:, instances.edges[:, 1]]
    return exact_sums(np.hstack([instances.unary * z, instances.pairwise * pairs]))


def _sign_for(solver: ArgmaxSolver) -> str:
    """Return the sign of the pairwise scores that a solver takes."""
    if not solver.capabilities.pairwise:
        return "none"
    if solver.capabilities.supermodular_only:
        return "positive"
    return "any"


@contextmanager
def naming(solver: CertifiedSolver[Any], batch: str = "") -> Iterator[None]:
    """Add the names of the solver and the batch to failures inside this context."""
    try:
        yield
    except (AssertionError, SolveFailedError) as error:
        raise AssertionError(f"{solver.name}{batch}: {error}") from error


def check_answers(
    solver: CertifiedSolver[Any],
    problem: Any,
    scores: np.ndarray,
    state_numbers: Callable[[Solution], np.ndarray],
    slack: np.ndarray,
) -> None:
    """Check the answers to a batch against the scores of all states.

    Args:
        solver: a solver of any kind of problems.
        problem: a batch with one leading dimension.
        scores: `[batch, states]`, the oracle.
        state_numbers: returns the places `[batch]` of a solution's states in `scores`.
        slack: `[batch]`, the maximum rounding error of a score.

    Raises:
        AssertionError: a check fails.
    """
    solution = solver.solve(problem)
    reached_score = scores[np.arange(len(scores)), state_numbers(solution)]
    best = scores.max(axis=1)
    reached = _check_claims(solution, reached_score, best, slack)
    if solver.capabilities.exact:
        assert reached.all(), f"score {reached_score}, the maximum is {best}"
        assert np.all(solution.optimal), (
            f"exact, without a time limit, but optimal is {solution.optimal}"
        )


def _check_claims(
    solution: Solution, reached_score: np.ndarray, best: np.ndarray, slack: np.ndarray
) -> np.ndarray:
    """Check score, bound and certificate; return which instances reached the maximum."""
    assert (np.abs(solution.score - reached_score) <= slack).all(), (
        f"score {solution.score}, that of its state {reached_score}"
    )
    assert (solution.bound >= best - slack).all(), (
        f"bound {solution.bound} below the maximum {best}"
    )
    reached = reached_score >= best - slack
    assert (reached | ~solution.optimal).all(), (
        f"says optimal at {reached_score}, the maximum is {best}"
    )
    return np.asarray(reached)


SEARCHED: Final = 30
"""Number of variables of an instance in a batch, for solvers that are not exact."""

LOUD: Final = np.array([1e6, -1e6, 1e6])
"""Factors of the scores of the other instances in a batch.

An instance whose answer depends on a mean or a maximum over the batch gets another answer."""

LARGE = 300
"""Number of variables of the problems that show whether a solver adds up in float32."""

SHORTLY = 0.05
"""Seconds for each of these problems, for solvers that stop at a time limit."""


def check_large_answer(
    solver: CertifiedSolver[Any],
    problem: Any,
    best: np.ndarray,
    scores_of: Callable[[Solution], np.ndarray],
    slack: np.ndarray,
) -> None:
    """Check score, bound and certificate of a problem that is too large for enumeration.

    A solver that refuses the problem, or that could take exponential time, is not checked.

    Args:
        solver: a solver of any kind of problems.
        problem: a batch with one leading dimension.
        best: `[batch]`, the maxima.
        scores_of: computes the scores `[batch]` of a solution's states, and checks the states.
        slack: `[batch]`, the maximum rounding error of a score.

    Raises:
        AssertionError: a check fails.
    """
    if not _ends_soon(solver) or solver.why_not(problem):
        return
    limit = None
    if solver.capabilities.time_limit:
        limit = SHORTLY
    solution = solver.solve(problem, limit)
    _check_claims(solution, scores_of(solution), best, slack)


def _ends_soon(solver: CertifiedSolver[Any]) -> bool:
    """Return whether a solver has a time limit, or does not need exponential time."""
    can = solver.capabilities
    if can.time_limit or not can.exact:
        return True
    return not can.pairwise or can.supermodular_only or can.max_treewidth is not None


AT_ONCE = 1e-6
"""Seconds of a time limit that has passed before a search begins."""


def check_stopped(
    solver: CertifiedSolver[Any],
    problem: Any,
    scores: np.ndarray,
    state_numbers: Callable[[Solution], np.ndarray],
    slack: np.ndarray,
) -> None:
    """Check the answer of a search that a time limit stopped against the scores of all states.

    The checks are those of `check_answers`.

    Raises:
        AssertionError: the solver certifies a false claim.
    """
    if not solver.capabilities.time_limit:
        return
    try:
        solution = solver.solve(problem, AT_ONCE)
    except SolveFailedError:
        if not np.isinf(scores).any():  # no allowed state was found in time
            raise
        return
    reached_score = scores[np.arange(len(scores)), state_numbers(solution)]
    best = scores.max(axis=1)
    assert (solution.bound >= best - slack).all(), (
        f"after a time limit the bound {solution.bound} is below the maximum {best}; "
        "a solver that stops early returns a bound in its Maximiser"
    )
    assert ((reached_score >= best - slack) | ~solution.optimal).all(), (
        f"says optimal at {reached_score} after a time limit, and the maximum is {best}"
    )


def _check_several(
    solver: ArgmaxSolver, problem: Problem, scores: np.ndarray, slack: np.ndarray
) -> None:
    count = min(3, scores.shape[1])
    limits: list[float | None] = [None]
    if solver.capabilities.time_limit:
        limits.append(AT_ONCE)
    for limit in limits:
        ranking = ranked_states(solver, problem, count, Deadline.after(limit))
        if ranking is None:
            return
        numbers = (ranking.z.astype(np.int64) << np.arange(problem.n)).sum(axis=2)
        for instance, places in enumerate(numbers):
            others = np.delete(scores[instance], places).max(initial=-np.inf)
            assert ranking.others[instance] >= others - slack[instance], (
                f"best_states({count}) has the bound {ranking.others[instance]} on other states, "
                f"and one scores {others}"
            )


def check_batch(
    solver: CertifiedSolver[Any],
    make: Callable[..., Any],
    unary: np.ndarray,
    pairwise: np.ndarray,
    edges: np.ndarray,
    randomised: bool = False,
) -> None:
    """Check a batch of two leading dimensions against its instances, also in float32.

    The batch has the three instances, and beside each another one with far larger scores. Each is
    also solved alone, and all of them in the opposite order.

    Args:
        solver: a solver of any kind of problems.
        make: returns the problem of unary scores, pairwise scores and `edges=`.
        unary: `[3, ...]`.
        pairwise: `[3, ...]`.
        edges: `[e, 2]`.
        randomised: whether an inexact solver may answer an instance differently in a batch.

    Raises:
        AssertionError: a check fails.
    """
    wide = [_beside_loud(unary, LOUD), _beside_loud(pairwise, np.abs(LOUD))]
    batch = solver.solve(make(*wide, edges=edges))
    assert batch.z.shape[:2] == (3, 2), f"z has the shape {batch.z.shape} for unary {wide[0].shape}"
    assert batch.score.shape == batch.optimal.shape == batch.bound.shape == (3, 2)
    single = make(*(a.astype(np.float32) for a in wide), edges=edges)
    assert solver.solve(single).z.shape == batch.z.shape, "float32 is not taken"
    if randomised and not solver.capabilities.exact:
        return
    reversed_batch = make(*(a[::-1, ::-1].copy() for a in wide), edges=edges)
    reversed_score = solver.solve(reversed_batch).score[::-1, ::-1]
    for place in np.ndindex(3, 2):
        alone = make(wide[0][place], wide[1][place], edges=edges)
        score = batch.score[place]
        others = {
            "alone": solver.solve(alone).score,
            "with the batch in the opposite order": reversed_score[place],
        }
        for when, other in others.items():
            assert abs(other - score) <= 2 * alone.rounding, (
                f"a batch is not its instances: that at {place} scores {other} {when} and {score} "
                "in the batch; instances must not affect each other. A solver that draws random "
                "numbers draws them anew from its seed for every instance, or is checked "
                "with check_conformance(..., randomised=True)"
            )


def _beside_loud(scores: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return `[3, 2, ...]`: scores `[3, ...]`, each beside those of another times a factor."""
    loud = factors.reshape(3, *[1] * (scores.ndim - 1)) * np.roll(scores, 1, axis=0)
    return np.stack([scores, loud], axis=1)


def is_refused(solver: CertifiedSolver[Any], problem: Any) -> bool:
    """Return whether a solver rejects a problem with reasons."""
    try:
        solver.solve(problem)
    except UnsupportedProblemError as error:
        return bool(error.reasons)
    return False
