"""Exact sums and exact samples of the Gibbs distribution of pairwise binary problems.

The distribution is p(z) = exp(score(z)) / Z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.elimination.plan import Plan, cached_plan
from ..algorithms.elimination.treewidth import why_not_eliminated
from ..arrays import ArrayT, Scores
from ..errors import OptionError, UnsupportedProblemError, did_you_mean, shortened
from ..problems.problem import Problem
from . import enumeration, sum_product, sum_product_derivative
from .bit_completions import Completions
from .bit_evidence import BitEvidence
from .derivatives import derivative
from .distribution import Distribution
from .enumeration import MAX_VARIABLES
from .estimate import ESTIMATES
from .free_sums import EliminatedSums, EnumeratedSums, FreeSums
from .samples import Direction, by_sample, checked_uniforms

OTHER_METHODS = "method='trw' and method='mean_field' have bounds on log Z"
"""End of errors about exact sums that are out of reach."""

METHODS = ("auto", "exact", "enumeration", "elimination")
"""Methods of exact sums; for the first two, the number of variables decides."""


@dataclass(frozen=True, eq=False)
class Gibbs(Distribution[Problem[ArrayT], ArrayT]):
    """Distribution p(z) = exp(score(z)) / Z over bits: log Z, marginals, entropy and samples.

    All arrays have the leading dimensions of the problem (`batch` here) and are of the caller's
    kind. Samples are int8, and all other arrays are float64.

    Attributes:
        log_partition: `[batch]`, log Z in nats.
        bound: "exact".
        unary_marginals: `[batch, n]`, P(z_i = 1).
        pairwise_marginals: `[batch, e]`, P(z_i = z_j = 1) of the pairs in `edges`. These are the
            caller's edges, or the pairs of the upper triangle that are not zero in the whole batch.
        method: "enumeration" or "elimination".
        problem: the problem of the distribution.
        samples: `[samples, batch, n]`, int8; None without uniforms.
    """

    _free: FreeSums = field(repr=False)
    _evidence: BitEvidence = field(repr=False)

    def completions(
        self, uniforms: Any, variables: Any = None, *, threads: int | None = None
    ) -> Completions[ArrayT]:
        """Draw samples variable by variable, and complete each with the other value of variables.

        By elimination, the samples are those that `sample` returns for the same uniforms.
        Enumeration draws here from the last variable to the first, from running sums made for this
        purpose. It takes one uniform per variable.

        Args:
            uniforms: `[samples, batch, n]`, float64, in [0, 1), one for each variable with either
                method.
            variables: `[m]` or `[samples, batch, m]`, the variables to complete; None for all that
                evidence does not fix.
            threads: maximum number of threads; None for all cores.

        Raises:
            ProblemError: the uniforms have another shape, range or precision, the variables have
                another shape or range, or a chosen variable is fixed.

        Example:
            >>> from solvers import gibbs
            >>> pair = gibbs([0.0, 0.0], [9.0], edges=[[0, 1]])
            >>> found = pair.completions([[0.9, 0.1]])
            >>> found.samples.tolist(), found.completed.tolist()
            ([[1, 1]], [[[0, 1], [0, 0]]])
        """
        return Completions.drawn(
            self.problem, self._free, self._evidence, uniforms, variables, threads
        )

    def _uniforms_of_a_sample(self) -> tuple[int, ...]:
        return _uniforms_of(self.method, self.problem)

    def _entropies(self) -> Scores:
        free = self._free
        scores = free.scores()
        return free.log_partition - np.sum(free.marginals * scores, axis=1)

    def _draw(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        if self.method == "elimination":
            uniforms = self._evidence.uniforms(uniforms)
        return self._evidence.states(self._free.drawn(uniforms, threads))

    def _covariance(
        self, direction: Direction, threads: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        along = self._evidence.gathered(np.concatenate(direction, axis=1))
        product = self._evidence.spread(derivative(self._free, None, along, threads))
        return product[:, : self.problem.n], product[:, self.problem.n :]


def sums_of_bits(
    problem: Problem[ArrayT],
    evidence: BitEvidence,
    uniforms: Any,
    method: Any,
    threads: int | None,
    memory: int | None,
    beyond: Callable[[Problem], FreeSums],
) -> Gibbs[ArrayT]:
    """Return the exact sums of a problem over the states that agree with evidence.

    Args:
        problem: the caller's problem.
        evidence: evidence over the same problem on the host.
        uniforms: as for `gibbs`; None for no samples.
        method: one of `METHODS`.
        threads: maximum number of threads; None for all cores.
        memory: maximum bytes of tables; None for a share of the free memory.
        beyond: returns the sums of a problem whose tables of elimination do not fit.

    Raises:
        ProblemError: the uniforms have another shape, range or precision.
        UnsupportedProblemError: enumeration has too many variables, and elimination has too large a
            treewidth or too large tables.
        OptionError: the method is unknown.
    """
    method = exact_method(evidence.rest, method)
    # Elimination runs again for samples, and the caller's arrays may have changed by then.
    if method == "elimination" and evidence.values is None:
        problem = problem.copied()
        evidence = BitEvidence.none(problem.to_host())
    host = evidence.problem
    rest = evidence.rest
    shape = _uniforms_of(method, host)
    if uniforms is None:
        numbers = np.empty((host.batch, 0, *shape))
    else:
        numbers = checked_uniforms(host, uniforms, shape, f" for {method} (`uniforms_shape`)")
    free: FreeSums
    if method == "elimination" and not fits(rest, memory):
        free = beyond(rest)
        z = free.drawn(evidence.uniforms(numbers), threads)
    elif method == "elimination":
        free, z = _eliminated(rest, evidence.uniforms(numbers), threads)
    else:
        free = _enumerated(rest, threads)
        z = free.drawn(numbers, threads)
    marginals = evidence.lifted(free.marginals)
    samples = None
    if uniforms is not None:
        samples = host.home.place(by_sample(host, evidence.states(z)))
    return Gibbs(
        log_partition=host.restore(free.log_partition + evidence.constant),
        bound="exact",
        unary_marginals=host.restore(marginals[:, : host.n]),
        pairwise_marginals=host.restore(marginals[:, host.n :]),
        method=method,
        problem=problem,
        samples=samples,
        _free=free,
        _evidence=evidence,
    )


def uniforms_of_bits(problem: Problem, rest: Problem, method: Any) -> tuple[int, ...]:
    """Return the shape of the uniform numbers of a sample: `(n,)` or `()`.

    Args:
        problem: the problem of all variables.
        rest: the problem of the variables without evidence.
        method: as for `gibbs`.

    Raises:
        UnsupportedProblemError: as for `gibbs`.
        OptionError: the method is unknown.
    """
    return _uniforms_of(exact_method(rest, method), problem)


def _uniforms_of(method: str, problem: Problem) -> tuple[int, ...]:
    if method == "elimination":
        return (problem.n,)
    return ()


def exact_method(problem: Problem, method: str) -> str:
    """Return "enumeration" or "elimination": the requested method, or the one that fits n.

    Raises:
        UnsupportedProblemError: that method cannot take the problem.
        OptionError: the method is unknown.
    """
    if not isinstance(method, str) or method not in METHODS:
        names = ", ".join((*METHODS, *ESTIMATES))
        hint = did_you_mean(method, (*METHODS, *ESTIMATES))
        raise OptionError(f"method must be one of {names}; {hint}got {shortened(method)}")
    if method in ("auto", "exact"):
        method = "elimination"
        if problem.n <= MAX_VARIABLES:
            method = "enumeration"
    if method == "enumeration":
        reasons = _no_enumeration(problem)
    else:
        reasons = _no_elimination(problem)
    if reasons:
        raise UnsupportedProblemError("gibbs", reasons)
    return method


def _no_enumeration(problem: Problem) -> tuple[str, ...]:
    if problem.n <= MAX_VARIABLES:
        return ()
    return (f"n = {problem.n} and enumeration takes at most {MAX_VARIABLES}",)


def _no_elimination(problem: Problem) -> tuple[str, ...]:
    many = ""
    if problem.n > MAX_VARIABLES:
        many = f"n = {problem.n} is more than the {MAX_VARIABLES} of enumeration, and "
    reason = why_not_eliminated(problem, lambda plan: 0)
    if not reason:
        return ()
    return (f"{many}{reason}; {OTHER_METHODS}",)


def fits(problem: Problem, memory: int | None) -> bool:
    """Return whether the tables of an elimination that is not too wide fit into memory.

    Args:
        problem: the problem of the variables without evidence.
        memory: maximum bytes; None for a share of the free memory.
    """

    def bytes_of(plan: Plan) -> int:
        return sum_product_derivative.BYTES * plan.entries

    if memory is not None and bytes_of(problem.topology.recall(cached_plan)) > memory:
        return False
    return why_not_eliminated(problem, bytes_of) is None


def _enumerated(problem: Problem, threads: int | None) -> FreeSums:
    log_z, marginals, running = enumeration.infer(
        problem.unary, problem.pairwise, problem.edges, threads
    )
    return EnumeratedSums(problem, log_z, marginals, running)


def _eliminated(
    problem: Problem, uniforms: np.ndarray, threads: int | None
) -> tuple[FreeSums, np.ndarray]:
    """Return the sums and the samples of the same passes."""
    plan = problem.topology.recall(cached_plan)
    log_z, marginals, z = sum_product.infer(
        plan, problem.unary, problem.pairwise, uniforms, threads
    )
    return EliminatedSums(problem, log_z, marginals), z
