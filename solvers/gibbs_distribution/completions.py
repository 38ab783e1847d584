"""Samples variable by variable, and what each would be with one variable the other way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np

from ..algorithms.elimination.plan import cached_plan
from ..arrays import ArrayT, as_array, to_numpy
from ..errors import ProblemError
from ..options import check_threads
from ..problem import Problem
from . import enumeration_completions, sum_product_completions
from .derivatives import checked_direction, derivative
from .enumeration import RunningSums
from .samples import Batched, Drawn, by_instance, by_sample


@dataclass(frozen=True, eq=False)
class Completions(Generic[ArrayT]):
    """Samples of p(z) ~ exp(score(z)), drawn variable by variable, and their completions.

    The completion of variable v has the other value of z_v, the sample's of all that were drawn
    before v, and those of all others by the same uniforms: given what was drawn before and the
    other value, a sample of the rest. (By enumeration zeros, where that value has a probability
    below 1e-300.) States are int8, of the caller's kind, with the leading dimensions of the problem
    (`batch` here).

    Attributes:
        samples: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, numpy, those that were completed.
        completed: `[samples, m, batch, n]`, the completions of each sample.
        conditionals: `[samples, batch, m]`, float64, the probabilities that those variables were
            one, given what the sample had drawn before.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators: all
        values of one variable, the others by common random numbers.
    """

    samples: ArrayT
    variables: np.ndarray
    completed: ArrayT
    conditionals: ArrayT
    _problem: Problem[ArrayT] = field(repr=False)
    _sums: RunningSums | None = field(repr=False)
    _marginals: np.ndarray = field(repr=False)
    _z: np.ndarray = field(repr=False)
    _chosen: np.ndarray = field(repr=False)

    def derivative(
        self, changes: Any, unary: Any = None, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """The gradient in the scores of the sum of changes * P(z_v = 1 | drawn before), what was drawn held fixed.

        The sum is over the samples and their variables. With the change of a cost from z_v = 0 to
        z_v = 1, between a sample and its completion, over all variables, its expectation is the
        gradient of the expected cost.

        By enumeration a sample counts for nothing where what it had drawn before has a probability
        below 1e-200.

        With a direction d, `unary` and `pairwise`, the gradient of d . marginals is added, which is
        `Gibbs.covariance_product`: by enumeration in the same pass over all states.

        Args:
            changes: `[samples, batch, m]`, finite.
            unary: `[batch, n]`, the part of d for the marginals of variables, finite; or what
                broadcasts to it; None for zeros.
            pairwise: `[batch, e]`, that for those of pairs; None for zeros.
            threads: most threads to use; None for all cores.

        Returns:
            `[batch, n]` and `[batch, e]`, float64.

        Raises:
            ProblemError: the changes have another shape, a part of the direction does not broadcast
                to its own, or one is not finite.
            OptionError: there are no so many threads.

        Example:
            >>> from solvers import gibbs
            >>> found = gibbs([0.0, 0.0], [0.0], edges=[[0, 1]]).completions([[0.6, 0.4]])
            >>> found.samples.tolist(), found.completed.tolist()
            ([[0, 1]], [[[1, 1], [0, 0]]])
            >>> unary, pairwise = found.derivative([[3.0, 0.0]])
            >>> unary.tolist(), pairwise.tolist()
            ([0.75, 0.0], [0.75])
        """
        check_threads(threads)
        problem = self._problem
        given, shape = to_numpy(as_array(changes, "changes")), self.variables.shape
        if given.shape != shape or given.dtype.kind not in "biuf":
            raise ProblemError(
                f"changes must be real numbers {shape}; they are {given.dtype} {given.shape}"
            )
        given = given.astype(np.float64)
        if not np.isfinite(given).all():
            raise ProblemError("changes must be finite")
        direction = None
        if unary is not None or pairwise is not None:
            direction = checked_direction(problem, 0.0 if unary is None else unary, pairwise)
        drawn = Drawn(self._z, self._chosen, by_instance(problem, given))
        return derivative(problem, self._sums, self._marginals, drawn, direction, threads)


def complete(
    problem: Problem[ArrayT],
    sums: RunningSums | None,
    marginals: np.ndarray,
    uniforms: np.ndarray,
    variables: Any,
    threads: int | None,
) -> Completions[ArrayT]:
    """The completions of a problem on the host; `sums` of enumeration, None for elimination.

    Args:
        problem: with whose leading dimensions.
        sums: what enumeration has kept.
        marginals: `[batch, n + e]`.
        uniforms: `[batch, samples, n]`.
        variables: as for `Gibbs.completions`.
        threads: most threads to use; None for all cores.

    Raises:
        ProblemError: the variables have another shape or range.
    """
    samples, n = uniforms.shape[1:]
    chosen = by_instance(problem, chosen_variables(problem, samples, variables))
    if sums is None:
        plan = problem.topology.recall(cached_plan)
        z, completed, conditionals = sum_product_completions.complete(
            plan, problem.unary, problem.pairwise, uniforms, chosen, threads
        )
    else:
        z, completed, conditionals = enumeration_completions.complete(
            sums, n, problem.edges, uniforms, chosen, threads
        )
    place = problem.home.place
    return Completions(
        samples=place(by_sample(problem, z)),
        variables=by_sample(problem, chosen),
        completed=place(_by_completion(problem, completed)),
        conditionals=place(by_sample(problem, conditionals)),
        _problem=problem,
        _sums=sums,
        _marginals=marginals,
        _z=z,
        _chosen=chosen,
    )


def _by_completion(problem: Problem, completed: np.ndarray) -> np.ndarray:
    """`[samples, m, batch, n]`."""
    swapped = np.ascontiguousarray(completed.transpose(1, 2, 0, 3))
    return swapped.reshape(*swapped.shape[:2], *problem.leading, problem.n)


def chosen_variables(problem: Batched, samples: int, variables: Any) -> np.ndarray:
    """`[samples, ..., m]`: all of them for None.

    Raises:
        ProblemError: they have another shape or range.
    """
    if variables is None:
        variables = np.arange(problem.n)
    given = to_numpy(as_array(variables, "variables"))
    shape = (samples, *problem.leading)
    if given.dtype.kind not in "iu" or given.shape[:-1] not in ((), shape) or not given.ndim:
        raise ProblemError(
            f"variables must be whole numbers [m] or {(*shape, 'm')}; they are {given.dtype} {given.shape}"
        )
    if given.size and not (given.min() >= 0 and given.max() < problem.n):
        raise ProblemError(
            f"variables must be at least 0 and below n = {problem.n}; they go from {given.min()} to {given.max()}"
        )
    return np.broadcast_to(given, (*shape, given.shape[-1])).astype(np.int64)
