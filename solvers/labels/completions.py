"""Samples of labels variable by variable, and what each would be with another value of one variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array, ArrayT, beside, namespace_of, to_numpy
from ..errors import ProblemError
from ..gibbs_distribution.completions import SampleCompletions, placed
from ..gibbs_distribution.samples import Direction, checked_direction, checked_variables
from ..options import check_threads
from .algorithms.sum_product import Conditionals
from .problem import LabelProblem

LARGEST = 1e290
"""Magnitude of a direction, so that sums over its numbers are finite."""


@dataclass(frozen=True, eq=False)
class LabelCompletions(SampleCompletions[LabelProblem[ArrayT], ArrayT]):
    """Samples of p(x) ~ exp(score(x)) over labels, drawn variable by variable, and their completions.

    A completion has another value of a variable v, the sample's of all that were drawn before v,
    and those of all others by the same uniforms: given what was drawn before and the value, a
    sample of the rest. Values are int64, of the caller's kind, with the leading dimensions of the
    problem (`batch` here).

    Attributes:
        samples: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, numpy, those that were completed.
        completed: `[samples, m, k - 1, batch, n]`: in the r-th completion of v, x_v is that of the
            sample plus 1 + r, modulo k.
        conditionals: `[samples, batch, m, k]`, float64, the probabilities of each value of those
            variables, given what the sample had drawn before.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators: all
        values of one variable, the others by common random numbers.
    """

    _parts: tuple[Conditionals, ...] = field(repr=False)
    _z: np.ndarray = field(repr=False)

    def derivative(
        self, costs: Any, unary: Any = None, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """The gradient in the scores of the sum of costs * P(x_v = a | drawn before), what was drawn held fixed.

        The sum is over samples, their variables and all values. With the costs of a sample and of
        its completions, over all variables, its expectation is the gradient of the expected cost.

        With a direction d, `unary` and `pairwise`, the gradient of d . marginals is added, which is
        `LabelGibbs.covariance_product`.

        Args:
            costs: `[samples, batch, m, k]`, finite: of the state in which the variable has the
                value.
            unary: `[batch, n, k]`, the part of d for the marginals of variables, finite; or what
                broadcasts to it; None for zeros.
            pairwise: `[batch, e, k, k]`, that for those of pairs; None for zeros.
            threads: as over bits; sums over labels take one.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`, float64.

        Raises:
            ProblemError: the costs have another shape, a part of the direction does not broadcast
                to its own, or one is not finite.

        Example:
            >>> from solvers import labels
            >>> found = labels.gibbs([[0.0, 0.0], [0.0, 0.0]], potts=0.0, edges=[[0, 1]]).completions([[0.6, 0.4]])
            >>> found.samples.tolist(), found.completed.tolist()
            ([[1, 0]], [[[[0, 0]], [[1, 1]]]])
            >>> found.derivative([[[0.0, 4.0], [0.0, 0.0]]])[0].tolist()
            [[-1.0, 1.0], [0.0, 0.0]]
        """
        check_threads(threads)
        problem = self._problem
        of_chosen = self._weights("costs", costs)
        weights = np.zeros((*self._z.shape, problem.k))
        instances, samples = np.ogrid[: len(of_chosen), : of_chosen.shape[1]]
        np.add.at(
            weights, (instances[..., None], samples[..., None], self._chosen), of_chosen
        )  # one may be chosen twice
        found = [
            part.pulled_back(*arrays) for part, *arrays in by_part(self._parts, self._z, weights)
        ]
        ones, pairs = concatenated(problem, found)
        if unary is not None or pairwise is not None:
            shapes = (problem.n, problem.k), (problem.e, problem.k, problem.k)
            direction = checked_direction(problem, unary, pairwise, shapes, LARGEST)
            more = covariance(problem, self._parts, direction)
            ones, pairs = ones + more[0], pairs + more[1]
        return problem.restore(ones), problem.restore(pairs)


def complete(
    problem: LabelProblem[ArrayT],
    parts: tuple[Conditionals, ...],
    uniforms: np.ndarray,
    variables: Any,
    fixed: np.ndarray,
) -> LabelCompletions[ArrayT]:
    """The completions of a problem whose variables have as many values each.

    Args:
        problem: with whose leading dimensions.
        parts: its conditionals, some instances each.
        uniforms: `[batch, samples, n]`.
        variables: as for `LabelGibbs.completions`.
        fixed: `[n]`, bool, which variables keep a value.

    Raises:
        ProblemError: the variables have another shape or range, or one of them is fixed; or some
            have fewer values than others.
    """
    n, k, samples = problem.n, problem.k, uniforms.shape[1]
    if (problem.sizes != k).any():
        raise ProblemError(
            f"completions are of variables with as many values each; here they have {problem.sizes.min()} to {k}"
        )
    chosen = checked_variables(problem, samples, variables, fixed)
    m = chosen.shape[-1]
    z = drawn(parts, uniforms)
    of_all = np.concatenate([to_numpy(part.at(own)) for part, own in by_part(parts, z)])
    conditionals = np.take_along_axis(of_all, chosen[..., None], axis=2)
    others = (np.take_along_axis(z, chosen, axis=-1)[..., None] + 1 + np.arange(k - 1)) % k
    given = np.full((*chosen.shape, k - 1, n), -1, np.int64)
    np.put_along_axis(
        given,
        np.broadcast_to(chosen[..., None, None], (*others.shape, 1)),
        others[..., None],
        axis=-1,
    )
    again = np.broadcast_to(uniforms[:, :, None, None, :], given.shape)
    flat = (problem.batch, samples * m * (k - 1), n)
    completed = drawn(parts, again.reshape(flat), given.reshape(flat)).reshape(given.shape)
    return LabelCompletions(
        **placed(problem, z, chosen, completed, conditionals), _parts=parts, _z=z
    )


def drawn(
    parts: tuple[Conditionals, ...],
    uniforms: np.ndarray,
    given: np.ndarray | None = None,
) -> np.ndarray:
    """`[batch, samples, n]`, numpy: the samples of all parts for uniforms `[batch, samples, n]`.

    Args:
        parts: the conditionals of a problem, some instances each.
        uniforms: in [0, 1).
        given: `[batch, samples, n]`, values that are not drawn, -1 for all others; None where all
            are.
    """
    arrays = (uniforms,) if given is None else (uniforms, given)
    return np.concatenate([to_numpy(part.samples(*own)) for part, *own in by_part(parts, *arrays)])


def by_part(parts: tuple[Conditionals, ...], *arrays: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Each part, with what its instances have of arrays `[batch, ...]`, of the kind of its problem's arrays."""
    start = 0
    for part in parts:
        rows = slice(start, start + part.problem.batch)
        yield part, *(beside(part.problem.unary, array[rows]) for array in arrays)
        start += part.problem.batch


def concatenated(problem: LabelProblem, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Arrays of unary and of pairwise features of the whole batch, by those of its parts."""
    xp = namespace_of(problem.unary)
    unary = xp.concat([part[0] for part in parts], axis=0)
    pairwise = xp.concat([part[1] for part in parts], axis=0)
    return unary, pairwise


def covariance(
    problem: LabelProblem, parts: tuple[Conditionals, ...], direction: Direction
) -> tuple[Array, Array]:
    """Cov(phi, phi . d) `[batch, n, k]` and `[batch, e, k, k]`, where phi indicates values."""
    unary, pairwise = (np.ascontiguousarray(part) for part in direction)
    found = [
        part.derivative(_as_scores(part.problem, *arrays))
        for part, *arrays in by_part(parts, unary, pairwise)
    ]
    return concatenated(problem, found)


def _as_scores(problem: LabelProblem, unary: Array, pairwise: Array) -> LabelProblem:
    """The problem of the same pairs, whose scores a direction is."""
    tables = np.arange(problem.e)
    sizes, topology = problem.sizes, problem.topology
    return LabelProblem(
        unary, pairwise, tables, None, sizes, topology, (problem.batch,), problem.home
    )
