"""Compute sums over labels and their derivatives, by elimination.

The sums give log-partitions, marginals and samples. The derivatives are those of marginals and of
conditionals.

Going up, the sum over a step's variable gives log Z in the end, and on the way the conditional of
each variable given its separator. Going down, the separator's probabilities come from the step that
eliminates its first variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import itemgetter, mul
from typing import Any, Final

import numpy as np

from ...arrays import Array, Scores, States, as_float64, beside, namespace_of, to_numpy
from ..problem import LabelProblem
from .buckets import Buckets, Step, joined, terms

FACTORED: Final = 8
"""Minimum ratio of entries at which exp(sum) is computed as a product of exponentials.

The ratio compares the entries of the sum with those of its terms.
"""

DEEPEST: Final = -700.0
"""Lowest depth of a sum of scores below its peak at which no product underflows.

Products of exponentials underflow below -708.
"""


@dataclass(frozen=True, eq=False)
class Conditionals:
    """p(x) = exp(score(x)) / Z of a batch, as a product of p(x_v | separator of v).

    Attributes:
        problem: whose scores.
        buckets: its elimination.
        tables: by step, `[batch, sizes of its scope]`.
        log_partition: `[batch]`, minus infinity where everything is forbidden.
    """

    problem: LabelProblem
    buckets: Buckets
    tables: tuple[Array, ...]
    log_partition: Scores

    @classmethod
    def of(cls, problem: LabelProblem, buckets: Buckets) -> Conditionals:
        """By one pass up."""
        xp = namespace_of(problem.unary)
        messages = dict[int, Array]()
        tables = []
        total = xp.zeros_like(problem.unary[:, 0, 0], dtype=xp.float64)
        for t, step in enumerate(buckets.steps):
            weights, peak = _exponentials(xp, list(terms(problem, buckets, step, messages)))
            sums = xp.sum(weights, axis=1, keepdims=True)
            weights /= xp.where(sums > 0, sums, xp.ones_like(sums))
            tables.append(weights)
            message = (_log(xp, sums) + peak)[:, 0, ...]
            if step.separator:
                messages[t] = message
            else:
                total = total + message
        return cls(problem, buckets, tuple(tables), total)

    def marginals(self) -> tuple[Array, Array]:
        """Return the marginals of variables `[batch, n, k]` and of pairs `[batch, e, k, k]`."""
        return self._collected(self._scope_probabilities())

    def derivative(self, direction: LabelProblem) -> tuple[Array, Array]:
        """Return the directional derivative of the marginals in the scores.

        The direction is a problem with the same pairs.
        """
        return self._collected(self._scope_derivatives(direction))

    def samples(self, uniforms: Array, given: Array | None = None) -> States:
        """Draw samples `[batch, samples, n]` by inverting the cumulative conditionals.

        Args:
            uniforms: in [0, 1).
            given: `[batch, samples, n]`, values that are not drawn, -1 for all others; None where
                all are drawn.
        """
        xp = namespace_of(self.problem.unary)
        chosen: dict[int, Array] = {}
        for step, table in self._downwards():
            sums = xp.cumulative_sum(
                _conditionals(table, _below(step, table, chosen, uniforms)), axis=-1
            )
            draw = uniforms[:, :, step.variable][..., None] * sums[..., -1:]
            value = xp.sum(xp.astype(sums[..., :-1] <= draw, xp.int64), axis=-1)
            fixed = None if given is None else given[:, :, step.variable]
            chosen[step.variable] = value if fixed is None else xp.where(fixed >= 0, fixed, value)
        return xp.stack([chosen[v] for v in range(self.problem.n)], axis=-1)

    def at(self, states: States) -> Array:
        """Return P(x_v = a | separator of v), `[batch, samples, n, k]`.

        The separators have their values in `states [batch, samples, n]`.
        """
        conditionals = beside(self.problem.unary, np.zeros((*states.shape, self.problem.k)))
        chosen = {v: states[:, :, v] for v in range(self.problem.n)}
        for step, table in self._downwards():
            of_variable = _conditionals(table, _below(step, table, chosen, states))
            conditionals[:, :, step.variable, : table.shape[1]] = of_variable
        return conditionals

    def pulled_back(self, states: States, weights: Array) -> tuple[Array, Array]:
        """Return the gradient in the scores of a weighted sum of conditionals.

        The sum is that of weights * P(x_v = a | separator of v), where the separators have their
        values in `states`.

        Going down as the marginals do: what a message is worth flows to the table that it was made
        of, and each conditional adds its own derivative to it.

        Args:
            states: `[batch, samples, n]`.
            weights: `[batch, samples, n, k]`.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`.
        """
        return self._collected(self._scope_gradients(states, weights))

    def _scope_gradients(self, states: States, weights: Array) -> Iterator[tuple[Step, Array]]:
        """The gradient in each step's table of scores, the last step first."""
        xp = namespace_of(self.problem.unary)
        above = _Above(self.buckets)
        chosen = {v: states[:, :, v] for v in range(self.problem.n)}
        for step, table in self._downwards():
            below = _below(step, table, chosen, states)
            conditionals = _conditionals(table, below)
            places = xp.reshape(_places(table, below), (-1,))
            weight = weights[:, :, step.variable, : table.shape[1]]
            moved = conditionals * (weight - xp.sum(conditionals * weight, axis=-1, keepdims=True))
            gradient = np.zeros(prod(table.shape))
            # equal places add up
            np.add.at(gradient, to_numpy(places), to_numpy(xp.reshape(moved, (-1,))))
            joint = xp.reshape(beside(table, gradient), table.shape)
            outside = above.take(step)
            if outside is not None:
                joint += table * outside[:, None, ...]
            above.give(step, joint)
            yield step, joint

    def _downwards(self) -> Iterator[tuple[Step, Array]]:
        return zip(reversed(self.buckets.steps), reversed(self.tables), strict=True)

    def _scope_probabilities(self) -> Iterator[tuple[Step, Array]]:
        """The probabilities of each step's scope, the last step first."""
        above = _Above(self.buckets)
        for step, table in self._downwards():
            outside = above.take(step)
            joint = table if outside is None else table * outside[:, None, ...]
            above.give(step, joint)
            yield step, joint

    def _scope_derivatives(self, direction: LabelProblem) -> Iterator[tuple[Step, Array]]:
        """The derivatives of the probabilities of each step's scope, the last step first."""
        xp = namespace_of(self.problem.unary)
        messages = dict[int, Array]()
        moves = []
        for t, (step, table) in enumerate(zip(self.buckets.steps, self.tables, strict=True)):
            moved = joined(direction, self.buckets, step, messages)
            message = xp.sum(table * moved, axis=1, keepdims=True)
            moves.append((moved, message))
            if step.separator:
                messages[t] = message[:, 0, ...]
        above = _Above(self.buckets)
        above_moved = _Above(self.buckets)
        for (step, table), (move, message) in zip(self._downwards(), reversed(moves), strict=True):
            outside = above.take(step)
            known_moved = above_moved.take(step)
            if outside is None or known_moved is None:
                move = move - message  # not in place: that of a variable by itself is the caller's
            else:
                move *= outside[:, None, ...]
                move += (known_moved - outside * message[:, 0, ...])[:, None, ...]
            move *= table
            if step.children:  # else nobody reads these
                passed = table if outside is None else table * outside[:, None, ...]
                above.give(step, passed)
                above_moved.give(step, move)
            yield step, move

    def _collected(self, scopes: Iterator[tuple[Step, Array]]) -> tuple[Array, Array]:
        """What tables over scopes say of each variable and of each pair."""
        xp = namespace_of(self.problem.unary)
        problem = self.problem
        kind = {"dtype": xp.float64, "device": getattr(problem.unary, "device", None)}
        unary = xp.zeros((problem.batch, problem.n, problem.k), **kind)
        pairwise = xp.zeros((problem.batch, problem.e, problem.k, problem.k), **kind)
        for step, table in scopes:
            left = table
            for edge, place, second in sorted(step.edges, key=itemgetter(1), reverse=True):
                left = _first_axes(xp, left, place + 1)  # all that the pairs after this one need
                pair = _ends(xp, left)
                if second:
                    pair = xp.matrix_transpose(pair)
                pairwise[:, edge, : pair.shape[1], : pair.shape[2]] = pair
            unary[:, step.variable, : table.shape[1]] = _first_axes(xp, left, 1)
        return unary, pairwise


def _exponentials(xp: Any, scores: list[Array]) -> tuple[Array, Array]:
    """Return exp(sum of scores - peak), and the peak.

    The peak does not vary along the first variable's axis.

    Where the sum has many more entries than its terms it is the product of the terms' exponentials,
    which are fewer; their ranges must not let a product underflow.
    """
    entries = prod(np.broadcast_shapes(*(term.shape for term in scores)))
    if entries > FACTORED * sum(prod(term.shape) for term in scores):
        scores = [as_float64(term) for term in scores]
        axes = tuple(range(1, scores[0].ndim))
        peaks = [_finite(xp, xp.max(term, axis=axes, keepdims=True)) for term in scores]
        depths = (
            xp.where(xp.isinf(term), peak, term) - peak
            for term, peak in zip(scores, peaks, strict=True)
        )
        if sum(float(xp.min(depth)) for depth in depths) > DEEPEST:
            factors = (xp.exp(term - peak) for term, peak in zip(scores, peaks, strict=True))
            return reduce(mul, factors), sum(peaks[1:], start=peaks[0])
    total = sum(scores[1:], start=scores[0])
    peak = _finite(xp, xp.max(total, axis=1, keepdims=True))
    return xp.exp(total - peak), peak


def _finite(xp: Any, peaks: Array) -> Array:
    """0 where all is forbidden."""
    return xp.where(xp.isinf(peaks), xp.zeros_like(peaks), peaks)


class _Above:
    """Keep the tables over scopes from which steps below read their separators.

    A table is dropped once the last of these steps has read it.
    """

    def __init__(self, buckets: Buckets):
        self._buckets = buckets
        self._place = {step.variable: t for t, step in enumerate(buckets.steps)}
        self._left = {t: len(step.children) for t, step in enumerate(buckets.steps)}
        self._tables: dict[int, Array] = {}

    def give(self, step: Step, table: Array) -> None:
        """A table over the scope of a step."""
        if step.children:
            self._tables[self._place[step.variable]] = table

    def take(self, step: Step) -> Array | None:
        """`[batch, sizes of the separator]`; None where there is none."""
        if not step.separator:
            return None
        parent = self._place[step.separator[0]]
        scope = self._buckets.steps[parent].scope
        table = self._tables[parent]
        self._left[parent] -= 1
        if not self._left[parent]:
            del self._tables[parent]
        return _summed(namespace_of(table), table, tuple(scope.index(u) for u in step.separator))


def _below(step: Step, table: Array, chosen: dict[int, Array], samples: Array) -> Array:
    """Return `[batch, samples]`: the separator's state in each sample.

    A state is a place in the flattened axes of the table after the first variable's.
    """
    place = beside(table, np.zeros(samples.shape[:2], np.int64))
    for u, length in zip(step.separator, table.shape[2:], strict=True):
        place = place * length + chosen[u]
    return place


def _places(table: Array, below: Array) -> Array:
    """`[batch, samples, size]`: where the conditional of each sample stands in the flat table."""
    batch, size, *lengths = table.shape
    values = np.arange(batch * size).reshape(batch, 1, size) * prod(lengths)
    return below[..., None] + beside(table, values)


def _conditionals(table: Array, below: Array) -> Array:
    """`[batch, samples, size]`: the conditional of each sample."""
    xp = namespace_of(table)
    (batch, size, *lengths) = table.shape
    rest = prod(lengths)
    if below.shape[1] < rest:  # few of them: the table stays as it lies
        places = _places(table, below)
        return xp.reshape(
            xp.take(xp.reshape(table, (-1,)), xp.reshape(places, (-1,)), axis=0), places.shape
        )
    rows = xp.reshape(xp.moveaxis(table, 1, -1), (batch * rest, size))
    flat = xp.reshape(below + beside(table, rest * np.arange(batch)[:, None]), (-1,))
    return xp.reshape(xp.take(rows, flat, axis=0), (*below.shape, size))


def _summed(xp: Any, table: Array, axes: tuple[int, ...]) -> Array:
    """A table `[batch, ...]` over some of its axes, which ascend."""
    others = tuple(axis + 1 for axis in range(table.ndim - 1) if axis not in axes)
    return xp.sum(table, axis=others) if others else table


def _first_axes(xp: Any, table: Array, count: int) -> Array:
    """Sum a table `[batch, ...]` over all but its first `count` axes after the batch.

    A matrix product is faster than sums over short axes.
    """
    shape = table.shape[: count + 1]
    size = prod(table.shape[count + 1 :])
    if size == 1:
        return xp.reshape(table, shape)
    return xp.reshape(
        xp.matmul(xp.reshape(table, (prod(shape), size)), _ones(xp, table, size)), shape
    )


def _ends(xp: Any, table: Array) -> Array:
    """A table `[batch, first, ..., last]` over these two axes."""
    batch, first, *between, last = table.shape
    size = prod(between)
    if size == 1:
        return xp.reshape(table, (batch, first, last))
    rows = xp.reshape(table, (batch, first, size, last))
    return xp.matmul(_ones(xp, table, size), rows)


def _ones(xp: Any, like: Array, count: int) -> Array:
    return xp.ones(count, dtype=like.dtype, device=getattr(like, "device", None))


def _log(xp: Any, values: Array) -> Array:
    """Logarithms; minus infinity of zeros, without a warning."""
    positive = values > 0
    logs = xp.log(xp.where(positive, values, xp.ones_like(values)))
    return xp.where(positive, logs, xp.full_like(logs, -np.inf))
