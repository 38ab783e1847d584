"""The Gibbs distribution p(z) = exp(score(z)) / Z of pairwise binary problems: exact sums and exact samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, overload

import numpy as np

from ..algorithms.elimination.plan import cached_plan
from ..algorithms.elimination.treewidth import why_not_eliminated
from ..arrays import ArrayLike, ArrayOf, ArrayT, Edges, Scores, to_numpy
from ..errors import OptionError, UnsupportedProblemError, shortened
from ..options import check_threads
from ..problem import Problem, check_problem
from . import enumeration, sum_product, sum_product_derivative
from .completions import Completions, complete
from .derivatives import checked_direction, derivative
from .draws import draw
from .enumeration import MAX_VARIABLES, RunningSums
from .samples import by_sample, checked_uniforms

METHODS = ("auto", "enumeration", "elimination")


@dataclass(frozen=True, eq=False)
class Gibbs(Generic[ArrayT]):
    """What `gibbs` finds of p(z) = exp(score(z)) / Z.

    All arrays have the leading dimensions of the problem (`batch` here) and are of the caller's
    kind; all but the samples are float64.

    Attributes:
        log_partition: `[batch]`, log Z in nats.
        unary_marginals: `[batch, n]`, P(z_i = 1).
        pairwise_marginals: `[batch, e]`, P(z_i = z_j = 1) of the pairs in `edges`.
        samples: `[samples, batch, n]`, int8; None where no uniforms were given.
        edges: `[e, 2]`, numpy, i < j: as the caller gave them, or the pairs of the upper triangle
            that are not zero in the whole batch.
        method: "enumeration" or "elimination".
        problem: what was asked.
    """

    log_partition: ArrayT
    unary_marginals: ArrayT
    pairwise_marginals: ArrayT
    samples: ArrayT | None
    method: str
    problem: Problem[ArrayT]
    _sums: RunningSums | None = field(repr=False)

    @property
    def edges(self) -> Edges:
        """`[e, 2]`: the pair of each pairwise marginal."""
        return self.problem.edges

    def sample(self, uniforms: Any, *, threads: int | None = None) -> ArrayT:
        """Independent samples, those that `gibbs` gives for the same uniforms.

        Enumeration has kept running sums for it, 2^n / 64 bytes an instance, and builds 512 states
        a sample. Elimination runs again.

        Args:
            uniforms: as for `gibbs`; `uniforms_shape` gives the shape to draw.
            threads: most threads to use; None for all cores.

        Returns:
            `[samples, batch, n]`, int8.

        Raises:
            ProblemError: the uniforms have another shape, range or precision.

        Example:
            >>> fair = gibbs([0.0, 0.0])
            >>> fair.sample([0.1, 0.4, 0.6]).tolist()
            [[0, 0], [1, 0], [0, 1]]
        """
        check_threads(threads)
        problem = self.problem.to_host()
        drawn = _uniforms(problem, self.method, uniforms)
        if self._sums is None:
            return problem.home.place(by_sample(problem, _eliminate(problem, drawn, threads)[2]))
        return problem.home.place(by_sample(problem, _draw(problem, self._sums, drawn, threads)))

    def completions(
        self, uniforms: Any, variables: Any = None, *, threads: int | None = None
    ) -> Completions[ArrayT]:
        """Samples, drawn variable by variable, and each of them completed with other values of single variables.

        By elimination the samples are those that `sample` gives for the same uniforms. Enumeration
        draws from the last variable to the first here, one uniform a variable, from running sums of
        its own.

        Args:
            uniforms: `[samples, batch, n]`, float64, in [0, 1), one a variable by either method.
            variables: `[m]` or `[samples, batch, m]`, which to complete; None for all.
            threads: most threads to use; None for all cores.

        Raises:
            ProblemError: the uniforms have another shape, range or precision, or the variables
                another shape or range.

        Example:
            >>> pair = gibbs([0.0, 0.0], [9.0], edges=[[0, 1]])
            >>> found = pair.completions([[0.9, 0.1]])
            >>> found.samples.tolist(), found.completed.tolist()
            ([[1, 1]], [[[0, 1], [0, 0]]])
        """
        check_threads(threads)
        problem = self.problem.to_host()
        drawn = _uniforms(problem, "elimination", uniforms)
        return complete(problem, self._sums, self._marginals(), drawn, variables, threads)

    def covariance_product(
        self, unary: Any, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """Cov(phi, phi . d) for a direction d, where phi are the z_i and the z_i z_j of `edges`.

        It is the derivative of the marginals along d, and the covariance is symmetric, so it also
        takes a gradient with respect to the marginals back to the scores. With theta the scores
        themselves, the entropy H = log Z - theta . E[phi] has the gradient -Cov(phi, phi . theta).

        Args:
            unary: `[batch, n]`, the part of d for the unary scores, finite; or what broadcasts to
                it.
            pairwise: `[batch, e]`, that for the pairwise scores; None for zeros.
            threads: most threads to use; None for all cores.

        Returns:
            `[batch, n]` and `[batch, e]`, float64.

        Raises:
            ProblemError: a part does not broadcast to its shape or is not finite.

        Example:
            >>> fair = gibbs([0.0, 0.0], [0.0], edges=[[0, 1]])
            >>> unary, pairwise = fair.covariance_product([1.0, 0.0])
            >>> unary.tolist(), pairwise.tolist()
            ([0.25, 0.0], [0.125])
        """
        check_threads(threads)
        problem = self.problem.to_host()
        direction = checked_direction(problem, unary, pairwise)
        return derivative(problem, self._sums, self._marginals(), None, direction, threads)

    def _marginals(self) -> np.ndarray:
        """`[batch, n + e]`."""
        parts = (to_numpy(part) for part in (self.unary_marginals, self.pairwise_marginals))
        return np.concatenate([part.reshape(self.problem.batch, -1) for part in parts], axis=1)


@overload
def gibbs(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    uniforms: Any = None,
    method: str = "auto",
    threads: int | None = None,
) -> Gibbs[np.ndarray]: ...


@overload
def gibbs(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    uniforms: Any = None,
    method: str = "auto",
    threads: int | None = None,
) -> Gibbs[ArrayT]: ...


def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    uniforms: Any = None,
    method: str = "auto",
    threads: int | None = None,
) -> Gibbs:
    """Log-partition, marginals and samples of p(z) = exp(score(z)) / Z, exact, in one pass.

    score(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j,  Z = sum_z exp(score(z))

    Up to 20 variables all states are enumerated; beyond, variables are eliminated one by one where
    the treewidth is small: about 20, and up to 25 where few separators are as large. Neither
    overflows at any magnitude of scores. Where the absolute scores of an
    instance add up to S, log Z and the probabilities are right to a few times (n + e + S) * 1e-16.
    Enumeration gives small probabilities to that relative accuracy too, down to 1e-300.

    A sample is the inverse of a cumulative distribution at the caller's uniform numbers in [0, 1),
    so equal uniforms give equal samples:

    *   enumeration takes one a sample. With states in the order of sum_i z_i 2^i, the sample is the
      first
        whose cumulative probability exceeds the uniform. The 53 bits of a float64 draw meet each
        state with its probability up to 2^-53, so that over 2^20 states the distribution is within
        2^-33 in total variation, and rounding adds as much as it does to probabilities.
    *   elimination takes one a variable: z_i = 1 where the i-th is less than the probability of z_i
      = 1,
        given the variables drawn before.

    `uniforms_shape` gives the shape to draw.

    Args:
        unary: `[..., n]`, arrays as in `solve`; `batch` stands for their leading dimensions.
        pairwise: None; `[..., n, n]`; or `[..., e]` with `edges`.
        edges: `[e, 2]`, the pairs, shared by the batch.
        uniforms: None for no samples; `[samples, batch]` for enumeration, `[samples, batch, n]` for
            elimination, float64, in [0, 1).
        method: "enumeration", "elimination", or "auto".
        threads: most threads to use; None for all cores.

    Raises:
        ProblemError: the arrays do not describe a problem, or the uniforms have another shape,
            range or precision.
        UnsupportedProblemError: there are too many variables for the one, and for the other method
            too large a treewidth or tables, of 48 bytes an entry, that do not fit into the free
            memory.
        OptionError: there is no such method, or so many threads.

    References:
        Koller and Friedman (2009), Probabilistic Graphical Models, chapters 9 and 12.

    Example:
        >>> result = gibbs([0.0, 0.0], [[0.0, 1.0], [0.0, 0.0]], uniforms=[0.1, 0.9])
        >>> round(float(result.log_partition), 6), result.unary_marginals.round(6).tolist()
        (1.743668, [0.650245, 0.650245])
        >>> result.samples.tolist()
        [[0, 0], [1, 1]]
    """
    check_threads(threads)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    method = _method(problem, method)
    # which runs again for samples: the caller's arrays may be others by then
    if method == "elimination":
        problem = problem.copied()
    host = problem.to_host()
    drawn = _uniforms(host, method, uniforms)
    log_z, marginals, z, sums = _infer(host, method, drawn, threads)
    return Gibbs(
        log_partition=host.restore(log_z),
        unary_marginals=host.restore(marginals[:, : host.n]),
        pairwise_marginals=host.restore(marginals[:, host.n :]),
        samples=None if uniforms is None else host.home.place(by_sample(host, z)),
        method=method,
        problem=problem,
        _sums=sums,
    )


def uniforms_shape(problem: Problem, samples: int, method: str = "auto") -> tuple[int, ...]:
    """The shape of the uniform numbers that `gibbs` takes for this many samples of a problem.

    Args:
        problem: `Problem.from_arrays` of the same arrays.
        samples: number of samples.
        method: as for `gibbs`.

    Raises:
        ProblemError: it is no `Problem`.
        UnsupportedProblemError: as for `gibbs`.
        OptionError: there is no such method.

    Example:
        >>> uniforms_shape(Problem.from_arrays([[0.0] * 5]), 3)
        (3, 1)
        >>> uniforms_shape(Problem.from_arrays([[0.0] * 50]), 3)
        (3, 1, 50)
    """
    check_problem(problem)
    variables = (problem.n,) if _method(problem, method) == "elimination" else ()
    return (samples, *problem.leading, *variables)


def _method(problem: Problem, method: str) -> str:
    if not isinstance(method, str) or method not in METHODS:
        raise OptionError(f"method must be one of {', '.join(METHODS)}; got {shortened(method)}")
    if method == "auto":
        method = "enumeration" if problem.n <= MAX_VARIABLES else "elimination"
    reasons = _no_enumeration(problem) if method == "enumeration" else _no_elimination(problem)
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
    reason = why_not_eliminated(problem, lambda plan: sum_product_derivative.BYTES * plan.entries)
    return (many + reason,) if reason else ()


def _uniforms(problem: Problem, method: str, uniforms: Any) -> np.ndarray:
    """`[batch, samples]` or `[batch, samples, n]`."""
    variables = (problem.n,) if method == "elimination" else ()
    if uniforms is None:
        return np.empty((problem.batch, 0, *variables))
    return checked_uniforms(problem, uniforms, variables, f" for {method} (`uniforms_shape`)")


def _infer(
    problem: Problem, method: str, uniforms: np.ndarray, threads: int | None
) -> tuple[Scores, np.ndarray, np.ndarray, RunningSums | None]:
    """Log-partition, marginals and samples, `[batch, ...]` each, and what enumeration keeps for more samples."""
    if method == "elimination":
        return *_eliminate(problem, uniforms, threads), None
    log_z, marginals, sums = enumeration.infer(
        problem.unary, problem.pairwise, problem.edges, threads
    )
    return log_z, marginals, _draw(problem, sums, uniforms, threads), sums


def _eliminate(
    problem: Problem, uniforms: np.ndarray, threads: int | None
) -> tuple[Scores, np.ndarray, np.ndarray]:
    plan = problem.topology.recall(cached_plan)
    return sum_product.infer(plan, problem.unary, problem.pairwise, uniforms, threads)


def _draw(
    problem: Problem, sums: RunningSums, uniforms: np.ndarray, threads: int | None
) -> np.ndarray:
    return draw(sums, problem.n, problem.edges, uniforms, threads)
