"""Base classes of every solver: check, maximise, re-score, certify."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, partial
from numbers import Real
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, final

import numpy as np
from array_api_compat import is_array_api_obj

from .arrays import ArrayT, Flags, Scores, States, namespace_of
from .constraint_rows import Rows
from .errors import (
    InfeasibleError,
    OptionError,
    ProblemTooLargeError,
    SolveFailedError,
    SolverError,
    SolverUnavailableError,
    UnsupportedProblemError,
    did_you_mean,
)
from .limits.deadline import Deadline
from .limits.interrupts import counted_interrupts, in_threads, interrupts
from .limits.progress import watched_by
from .limits.seconds import accept_seconds
from .limits.time_limits import deadline_of, seconds_of
from .problems.any_problem import check_kind
from .problems.problem import Problem
from .problems.topology import Topology
from .solution import AtOnce, Maximiser, Ranking, Solution, SolveInterrupted


@dataclass(frozen=True)
class Capabilities:
    """Problems that a solver accepts, and guarantees of its answers.

    Attributes:
        exact: whether it proves optimality if it has enough time.
        max_size: largest n; None if only time and memory limit it.
        pairwise: whether it takes pairwise scores at all.
        supermodular_only: whether every pairwise score must be >= 0.
        max_treewidth: largest width of an elimination order; None for no limit.
        on_device: whether it computes on the device of the arrays; otherwise they are copied to the
            host, and the answer is copied back.
        time_limit: whether it stops at a time limit; the others finish in bounded time anyway.
        constraints: largest sum of the magnitudes of a constraint's whole coefficients; None if the
            solver takes no linear constraints.
        packages: the import names of optional packages that it needs.
        install: the command that installs them.
    """

    exact: bool
    max_size: int | None = None
    pairwise: bool = True
    supermodular_only: bool = False
    max_treewidth: int | None = None
    on_device: bool = False
    time_limit: bool = False
    constraints: int | None = None
    packages: tuple[str, ...] = ()
    install: str = ""


class Maximisable(Protocol):
    """Properties of a batch of problems of any kind that are needed to check its answers."""

    @property
    def unary(self) -> Any:
        """Unary scores `[batch, n, ...]`, a numpy array if the problem is on the host."""

    @property
    def batch(self) -> int:
        """Number of instances."""

    @property
    def n(self) -> int:
        """Number of variables of an instance."""

    @property
    def e(self) -> int:
        """Number of edges."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no instances, or no variables."""

    @property
    def rounding(self) -> Scores:
        """Maximum difference `[batch]` of a score and its bound by rounding alone."""

    @property
    def tolerance(self) -> Scores:
        """Maximum gap `[batch]` at which a score still counts as optimal."""

    @property
    def trivial_bound(self) -> Scores:
        """Upper bounds `[batch]` on all scores, without a search."""

    def columns(self, z: Any) -> Any:
        """Return the zeros and ones `[batch, columns]` of states, to which constraints apply."""

    def restore(self, array: Any) -> Any:
        """Return `[batch, ...]` with the caller's leading dimensions, kind and device."""

    def to_host(self) -> Self:
        """Return the problem with numpy coefficients."""


ProblemT = TypeVar("ProblemT", bound=Maximisable)


class CertifiedSolver(ABC, Generic[ProblemT]):
    """Base class of solvers of one kind of problem: check, maximise, re-score, certify.

    The kinds are binary variables (`ArgmaxSolver`) and variables of several values
    (`solvers.labels`).
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def __init_subclass__(cls, **options: Any) -> None:
        """Accept solvers that take seconds in place of a `Deadline`."""
        super().__init_subclass__(**options)
        accept_seconds(cls)

    @abstractmethod
    def _argmax(self, problem: ProblemT, deadline: Deadline) -> Maximiser:
        """Return the best assignments that this backend finds for a problem that it can take.

        Args:
            problem: host arrays, or arrays of the caller's device if `capabilities.on_device`.
            deadline: the deadline of the whole batch.
        """

    def why_not(self, problem: ProblemT) -> tuple[str, ...]:
        """Return the reasons why this solver cannot take `problem`; empty if it can."""
        can = self.capabilities
        reasons = []
        if not can.pairwise and problem.e:
            reasons.append(f"the problem has {problem.e} pairwise scores and it takes none")
        if can.max_size is not None and problem.n > can.max_size:
            reasons.append(f"n = {problem.n} and it takes at most {can.max_size} variables")
        return tuple(reasons)

    @abstractmethod
    def _check_kind(self, problem: object) -> None:
        """Raise a ProblemError if `problem` is of another kind."""

    @abstractmethod
    def _checked_states(self, problem: ProblemT, z: States) -> States:
        """Return the states `[batch, n]` of a backend, after a check of every instance."""

    @abstractmethod
    def _scores(self, problem: ProblemT, z: States) -> Scores:
        """Return the scores `[batch]` of checked states, float64."""

    @classmethod
    def missing_packages(cls) -> tuple[str, ...]:
        """Return the packages that this solver needs and that are not installed."""
        packages = cls.capabilities.packages
        if not packages:  # most solvers
            return ()
        return tuple(name for name in packages if importlib.util.find_spec(name) is None)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Return the names of the options of this class."""
        return tuple(option.name for option in fields(cls)) if is_dataclass(cls) else ()

    @final
    def with_options(self, **options: Any) -> Self:
        """Return this solver with other values for some of its options.

        Raises:
            OptionError: the solver has no such option, or the value is invalid.

        Example:
            >>> from solvers import solver_class
            >>> solver_class("cp_sat")().with_options(threads=2).threads
            2
        """
        for name in set(options) - set(self.options()):
            have = "it has none"
            if self.options():
                have = f"it has {', '.join(self.options())}"
            hint = did_you_mean(name, self.options())
            raise OptionError(f"solver '{self.name}' has no option '{name}'; {hint}{have}")
        if not options:
            return self
        # Every solver class is a dataclass with fields.
        return replace(self, **options)  # type: ignore[type-var]

    @final
    def check(self, problem: ProblemT, time_limit: float | Deadline | None = None) -> None:
        """Raise the errors that `solve` raises before any work; see `solve`."""
        self._check_kind(problem)
        self._check_able(problem)
        if not isinstance(time_limit, Deadline):
            seconds_of(time_limit)

    def _check_first(self, problem: ProblemT, constraints: Rows | None = None) -> None:
        """Raise before `_argmax` or `_argmax_within` if this solver cannot take the problem.

        A backend whose checks take as long as its solution makes them there.
        """
        self._check_able(problem)
        if constraints is not None:
            self.check_within(problem, constraints)

    def _check_able(self, problem: ProblemT) -> None:
        """Raise if a package is missing, or this solver cannot take the problem."""
        if missing := self.missing_packages():
            raise SolverUnavailableError(
                f"solver '{self.name}' needs {', '.join(missing)}: {self.capabilities.install}"
            )
        if reasons := self.why_not(problem):
            raise UnsupportedProblemError(self.name, reasons)

    def solve(self, problem: ProblemT, time_limit: float | Deadline | None = None) -> Solution:
        """Return the maximiser of every instance, re-scored and certified.

        The method of each kind of solver lists its errors.
        """
        deadline = deadline_of(time_limit).about(problem)
        self._check_kind(problem)
        if problem.is_empty:
            return self._nothing_to_decide(problem)
        self._check_first(problem)
        if not self._takes_long(problem):
            return self.solve_until(problem, deadline)
        with counted_interrupts(), self._interrupts_first(problem, deadline):
            solution = self.solve_until(problem, deadline)
        if interrupts() != deadline.interrupts:
            raise SolveInterrupted(solution)
        return solution

    def _nothing_to_decide(self, problem: ProblemT) -> Solution:
        """Return the solution of a problem without instances or without variables."""
        host = problem.to_host()
        z = np.zeros((host.batch, host.n), np.int8)
        maximiser = Maximiser(self._checked_states(host, z), np.zeros(host.batch))
        return self._certified(host, maximiser)

    @contextmanager
    def _interrupts_first(self, problem: ProblemT, deadline: Deadline) -> Iterator[None]:
        """Raise `SolveInterrupted` instead of our own error if an interrupt ended the search.

        Code that catches errors would swallow Ctrl-C otherwise.
        """
        try:
            yield
        except SolverError as error:
            if interrupts() == deadline.interrupts:
                raise
            raise SolveInterrupted(_nothing_found(problem, self.name)) from error

    @final
    def solve_until(self, problem: ProblemT, deadline: Deadline) -> Solution:
        """Solve a problem that has been checked, without raising after an interrupt."""
        if self.capabilities.on_device:
            work = problem
        else:
            work = problem.to_host()
        try:
            maximiser = self._maximised(work, deadline)
        except MemoryError as error:
            raise ProblemTooLargeError(
                f"solver '{self.name}' needs more memory than is free for {problem.batch} problems "
                f"of n = {problem.n} and {problem.e} pairs ({error}); "
                "take another one, fewer threads or a smaller batch"
            ) from error
        return self._certified(work, maximiser)

    def _maximised(self, work: ProblemT, deadline: Deadline) -> Maximiser:
        in_thread = isinstance(work.unary, np.ndarray) and self._takes_long(work)
        # Most calls are too short for a context.
        if deadline.watch is None and not in_thread:
            return self._argmax(work, deadline)
        with watched_by(deadline.watch):
            if not in_thread:
                return self._argmax(work, deadline)
            # A search runs in a separate thread, so that this thread handles signals.
            (maximiser,) = in_threads([partial(self._argmax, work, deadline)], 1)
            return maximiser

    def _takes_long(self, work: ProblemT) -> bool:
        """Return whether a signal, or the deadline, may come before the answer."""
        return self.capabilities.time_limit

    def _certified(self, problem: ProblemT, maximiser: Maximiser) -> Solution:
        _check_maximiser(self.name, problem, maximiser)
        z, score, bound, proved = self._proof(problem, maximiser)
        if self.capabilities.exact:
            optimal = proved
        else:
            optimal = namespace_of(z).zeros_like(proved)
        restore = problem.restore
        restored_score = restore(score)
        if bound is score:
            restored_bound = restored_score
        else:
            restored_bound = restore(bound)
        solver = maximiser.solver or self.name
        return Solution(
            restore(z), restored_score, restore(optimal), restored_bound, solver, maximiser.stats
        )

    def _proof(
        self, problem: ProblemT, maximiser: Maximiser
    ) -> tuple[States, Scores, Scores, Flags]:
        """Check and re-score the states of a backend, and compare its bounds with their scores.

        Returns:
            The states `[batch, n]`, their scores `[batch]`, the bounds `[batch]` on the scores of
            all states, and whether each bound certifies its state as optimal, `[batch]`.

        Raises:
            SolveFailedError: a state is invalid, or a bound is below the score of a state.
        """
        z = self._checked_states(problem, maximiser.z)
        score = self._scores(problem, z)
        if maximiser.bound is None:
            bound = self.bound_of_none(problem, score)
        else:
            if maximiser.rounding is None:
                rounding = problem.rounding
            else:
                rounding = maximiser.rounding
            bound = self._bound_of(maximiser.bound, score, rounding)
        bound = raised_bound(problem, bound)
        self._refuse_forbidden(score, bound)
        if maximiser.tolerance is None:
            tolerance = problem.tolerance
        else:
            tolerance = maximiser.tolerance
        return z, score, bound, bound - score <= tolerance

    @final
    def bound_of_none(self, problem: ProblemT, score: Scores) -> Scores:
        """Return the bound `[batch]` on all scores if the backend returned None.

        None from an exact solver means that the method itself proves the score. None from a solver
        that is not exact proves nothing, so the bound is the trivial one.
        """
        if self.capabilities.exact:
            return score
        return namespace_of(score).maximum(score, problem.trivial_bound)

    # for problems that can forbid states
    def _refuse_forbidden(self, score: Scores, bound: Scores) -> None:
        """Raise our own error if a score is not that of an allowed state."""

    def _bound_of(self, bound: Scores, score: Scores, rounding: Scores) -> Scores:
        """Return bounds `[batch]`, after a check against the scores of the states that were found.

        A bound below a score, or NaN, proves that the backend is wrong.
        """
        xp = namespace_of(score)
        shape = np.shape(bound)
        if shape not in ((), tuple(score.shape)):
            raise SolveFailedError(
                f"solver '{self.name}' returned a Maximiser whose bound has the shape "
                f"{list(shape)}; it must be [batch], here {list(score.shape)}"
            )
        possible = bound >= score - rounding
        if bool(xp.all(possible)):
            return xp.maximum(score, bound)
        instance = int(xp.argmin(xp.astype(possible, xp.int8)))
        raise SolveFailedError(
            f"solver '{self.name}' returned the bound {float(bound[instance])} for instance "
            f"{instance}, where it found a state that scores {float(score[instance])}: "
            "a fault of the solver, whose answers prove nothing. Take another one"
        )

    @property
    def ranks(self) -> bool:
        """Whether `best_states` may find several states at once."""
        return type(self).best_states is not CertifiedSolver.best_states

    def best_states(  # for backends that can
        self, problem: ProblemT, count: int, deadline: Deadline
    ) -> Ranking | None:
        """Return the `count` assignments of highest score, for `solve(..., k_best=count)`.

        Args:
            problem: a problem on the host that this solver can take.
            count: number of states, at most the number of all states.
            deadline: the deadline of the whole batch, for solvers that can stop early. They then
                return `count` states, with a bound on all others.

        Returns:
            `count` states of every instance, in any order; None if this backend only finds one.
            `solvers.ranking.ranked_states` checks and orders them.
        """
        return None

    def best_states_within(  # for backends that can
        self, problem: ProblemT, constraints: Rows, count: int
    ) -> Ranking | None:
        """Return the best states that satisfy constraints, at most as many as exist.

        Args:
            problem: a problem on the host that this solver can take.
            constraints: constraints that it can take.
            count: number of states, at least 1.

        Returns:
            Fewer than `count` states if no more satisfy the constraints.
        """
        return None

    @final
    def solve_within(
        self,
        problem: ProblemT,
        constraints: Rows,
        time_limit: float | Deadline | None = None,
    ) -> Solution:
        """Return the best state that satisfies constraints, as `solve` does.

        Args:
            problem: the problem to solve.
            constraints: constraints of as many columns as `problem.columns` has.
            time_limit: as for `solve`.

        Raises:
            InfeasibleError: there is no such state.
            UnsupportedProblemError: the solver takes no constraints, or the coefficients are too
                large.
            SolveFailedError: no such state was found in time.
            SolverError: as `solve`.
        """
        deadline = deadline_of(time_limit).about(problem)
        self._check_kind(problem)
        self._check_first(problem, constraints)
        if (constraints.low > constraints.high).any():
            raise InfeasibleError(constraints.names)
        problem = problem.to_host()
        search = partial(self._argmax_within, problem, constraints, deadline)
        with (
            counted_interrupts(),
            watched_by(deadline.watch),
            self._interrupts_first(problem, deadline),
        ):
            (maximiser,) = in_threads([search], 1)
            _check_maximiser(self.name, problem, maximiser)
            self._check_within(problem, maximiser.z, constraints)
            solution = self._certified(problem, maximiser)
        if interrupts() != deadline.interrupts:
            raise SolveInterrupted(solution)
        return solution

    def _check_within(self, problem: ProblemT, z: States, constraints: Rows) -> None:
        """Raise a `SolveFailedError` if a state `[batch, n]` is missing or breaks a constraint."""
        if (z < 0).any():
            raise SolveFailedError(
                f"solver '{self.name}' found no state that satisfies the constraints in its time; "
                "give it longer, or a start that satisfies them"
            )
        z = self._checked_states(problem, z)
        if not constraints.satisfied(problem.columns(z)).all():
            raise SolveFailedError(
                f"solver '{self.name}' returned a state that breaks a constraint: "
                "a fault of the solver"
            )

    @final
    def check_within(self, problem: ProblemT, constraints: Rows) -> None:
        """Raise an `UnsupportedProblemError` if this solver cannot take a problem's constraints."""
        if reason := self.why_not_within(problem, constraints):
            raise UnsupportedProblemError(self.name, (reason,))

    def why_not_within(self, problem: ProblemT, constraints: Rows) -> str | None:
        """Return the reason why this solver cannot take the constraints of a problem.

        None if it can. The solver takes the problem without the constraints.
        """
        if self.capabilities.constraints is None:
            return "it takes no constraints"
        if constraints.magnitude > self.capabilities.constraints:
            return (
                f"the coefficients of a constraint add up to {constraints.magnitude} units, "
                f"and it takes {self.capabilities.constraints} at most"
            )
        return None

    def _argmax_within(self, problem: ProblemT, constraints: Rows, deadline: Deadline) -> Maximiser:
        """Maximise among the states that satisfy the constraints, as `_argmax` does among all.

        A state that was not found is -1.

        Args:
            problem: on the host.
            constraints: constraints on its variables.
            deadline: the deadline of the whole batch.

        Raises:
            InfeasibleError: there is no such state.
        """
        raise NotImplementedError


class ArgmaxSolver(CertifiedSolver[Problem]):
    """Base class of the solvers over bits: find the z in {0,1}^n of highest pairwise score.

    A backend sets `name` and `capabilities` and implements `_argmax`. Checks, scores and
    certificates are the same for all backends, and are implemented here.
    """

    kind: ClassVar[str] = "bits"

    @final
    def solve(
        self, problem: Problem[ArrayT], time_limit: float | Deadline | None = None
    ) -> Solution[ArrayT]:
        """Return the maximiser of every instance, re-scored in float64 and certified.

        Args:
            problem: the problem to solve.
            time_limit: seconds for the whole batch, or a `Deadline`; None or infinity for no limit.
                When it is reached, the incumbent is returned with `optimal=False` and an upper
                bound. Seconds in which kernels are compiled or packages loaded do not count.

        Raises:
            ProblemError: `problem` is not a `Problem`.
            SolverUnavailableError: a package is missing.
            UnsupportedProblemError: `why_not(problem)` has reasons.
            OptionError: the time limit is not positive.
            SolveFailedError: the backend stopped without an answer, or with an invalid one.
            ProblemTooLargeError: the backend needs more memory than there is.
            SolveInterrupted: Ctrl-C stopped a search; the exception has the incumbent.
        """
        return super().solve(problem, time_limit)

    def maximise_at_once(  # for backends with such a kernel
        self, topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
    ) -> AtOnce | None:
        """Solve small instances by one call of a kernel, with the answer of `solve`.

        The kernel checks, scores and certifies as `solve` does, since these steps take longer than
        the search. It is only called for objects of the class that defines it, since a subclass may
        have another `_argmax`.

        Args:
            topology: the pairs, at least one; None if `pairwise` is a matrix.
            unary: `[n]` for one instance, or `[batch, n]`; float64.
            pairwise: `[e]`, or `[n, n]` in any form, for one instance, or `[batch, e]`; float64.
            z: as `unary`, int8, in which the kernel writes the best state.

        Returns:
            The score, the bound, whether it certifies the state, and the statistics: Python's
            numbers for one instance, and arrays `[batch]` for several. None if `solve` has to check
            or solve the instances, or if there is no such kernel.

        Raises:
            TypeError: an array has another layout than the kernel takes.
        """
        return None

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Return the reasons why this solver cannot take `problem`; empty if it can."""
        reasons = super().why_not(problem)
        if self.capabilities.supermodular_only and (negative := problem.negative_pair()):
            instance, i, j, score = negative
            reason = (
                "pairwise scores must be >= 0 (supermodular) and that of the pair "
                f"({i}, {j}) in instance {instance} is {score:.6g}"
            )
            return (*reasons, reason)
        return reasons

    def _check_kind(self, problem: object) -> None:
        check_kind(problem, Problem)

    def _scores(self, problem: Problem, z: States) -> Scores:
        return score_states(problem, z)

    def _proof(
        self, problem: Problem, maximiser: Maximiser
    ) -> tuple[States, Scores, Scores, Flags]:
        on_host = isinstance(problem.unary, np.ndarray) and isinstance(maximiser.z, np.ndarray)
        if not on_host or maximiser.rounding is not None or maximiser.tolerance is not None:
            return super()._proof(problem, maximiser)
        bound = maximiser.bound
        if bound is None and not self.capabilities.exact:
            bound = problem.trivial_bound
        rounding = problem.rounding
        tolerance = problem.tolerance
        try:  # most answers, in one call
            pairs = problem.topology.pairs
            proof = _checks().proof_of(
                problem.unary, problem.pairwise, pairs, maximiser.z, bound, rounding, tolerance
            )
        except (TypeError, ValueError):  # kernels do not read this kind, form or type
            return super()._proof(problem, maximiser)
        if proof is None:  # its error names the fault
            return super()._proof(problem, maximiser)
        scores, proved = proof
        score = scores[0]
        score_is_bound = bound is None and tolerance is rounding
        certified_bound = score
        if not score_is_bound:
            certified_bound = scores[1]
        return maximiser.z, score, certified_bound, proved

    def _checked_states(self, problem: Problem, z: States) -> States:
        """Check the states `[batch, n]` of a backend, and return them as int8."""
        expected = (problem.batch, problem.n)
        xp = namespace_of(z)
        if (
            xp is np
            and z.dtype == np.int8
            and z.shape == expected
            and np.bitwise_or.reduce(z, axis=None) in (0, 1)
        ):
            return z
        if tuple(z.shape) != expected or not xp.isdtype(z.dtype, ("bool", "integral")):
            raise SolveFailedError(
                f"solver '{self.name}' returned z of type {z.dtype} and shape {tuple(z.shape)}; "
                f"it has to be integers {expected}: a fault of the solver"
            )
        if not bool(xp.all((z == 0) | (z == 1))):
            raise SolveFailedError(
                f"solver '{self.name}' returned z with other values than 0 and 1: "
                "a fault of the solver"
            )
        return xp.astype(z, xp.int8, copy=False)


def _check_maximiser(solver: str, problem: Maximisable, returned: object) -> None:
    """Raise if a backend did not return a `Maximiser` with arrays that can be checked.

    Args:
        solver: the name of the solver.
        problem: the problem that the backend got.
        returned: what it returned, for example just the states.
    """
    if not isinstance(returned, Maximiser):
        raise SolveFailedError(
            f"solver '{solver}' returned {type(returned).__name__}; its _argmax must return a "
            "Maximiser: return Maximiser(z) with the states z [batch, n]"
        )
    on_host = isinstance(problem.unary, np.ndarray)
    kind = "an array of the problem's library"
    if on_host:
        kind = "a numpy array"
    z = returned.z
    if not _is_array(z, on_host):
        raise SolveFailedError(
            f"solver '{solver}' returned a Maximiser whose z is a {type(z).__name__}; z must be "
            f"{kind} [batch, n], here {[problem.batch, problem.n]}"
        )
    bound = returned.bound
    if not (bound is None or isinstance(bound, Real | list) or _is_array(bound, on_host)):
        raise SolveFailedError(
            f"solver '{solver}' returned a Maximiser whose bound is a {type(bound).__name__}; "
            f"bound must be {kind} [batch], here {[problem.batch]}, or None"
        )


def _is_array(value: object, on_host: bool) -> bool:
    """Return whether a value is an array, and a numpy array if the problem is on the host."""
    if on_host:
        return isinstance(value, np.ndarray)
    return bool(is_array_api_obj(value))


def _nothing_found(problem: Maximisable, solver: str) -> Solution:
    """Return a solution without states, of a search that ended before it found any."""
    unknown = np.full(problem.batch, np.inf)
    return Solution(
        z=problem.restore(np.full((problem.batch, problem.n), -1, np.int8)),
        score=problem.restore(-unknown),
        optimal=problem.restore(np.zeros(problem.batch, bool)),
        bound=problem.restore(unknown),
        solver=solver,
        stats={},
    )


def score_states(problem: Problem, z: States) -> Scores:
    """Return the scores `[batch]` of states; they equal `Problem.score_flat` up to rounding."""
    if not problem.e or not isinstance(problem.unary, np.ndarray):
        return problem.score_flat(z)
    return _kernels().scores_of(problem.unary, problem.pairwise, problem.topology.pairs, z)


def raised_bound(problem: Maximisable, bound: Scores) -> Scores:
    """Return the bound `[batch]`, plus the rounding of sums if it hides units of the scores.

    The tolerance of a problem is minus infinity in this case.
    """
    tolerance = problem.tolerance
    rounding = problem.rounding
    if tolerance is rounding:  # most problems
        return bound
    xp = namespace_of(bound)
    return xp.where(tolerance < 0, bound + rounding, bound)


@cache
def _kernels() -> Any:
    """Return the module of compiled scores, which problems without pairs do not load."""
    return importlib.import_module(".compiled.scores", __package__)


@cache
def _checks() -> Any:
    """Return the module of compiled checks."""
    return importlib.import_module(".compiled.problem_checks", __package__)
