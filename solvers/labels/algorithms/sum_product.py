"""Log-partitions, marginals, samples, and derivatives of marginals and of conditionals of labels, by elimination.

Going up, the sum over a step's variable gives log Z in the end, and on the way the conditional of each variable given
its separator. Going down, the separator's probabilities come from the step that eliminates its first variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Scores, States, beside, namespace_of, to_numpy
from ..problem import LabelProblem
from .buckets import Buckets, Step, joined


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
        xp, messages, tables = namespace_of(problem.unary), dict[int, Array](), []
        total = xp.zeros_like(problem.unary[:, 0, 0], dtype=xp.float64)
        for t, step in enumerate(buckets.steps):
            scores = joined(problem, buckets, step, messages)
            peak = xp.max(scores, axis=1, keepdims=True)
            peak = xp.where(xp.isinf(peak), xp.zeros_like(peak), peak)
            weights = xp.exp(scores - peak)
            sums = xp.sum(weights, axis=1, keepdims=True)
            tables.append(weights / xp.where(sums > 0, sums, xp.ones_like(sums)))
            message = (_log(xp, sums) + peak)[:, 0, ...]
            if step.separator:
                messages[t] = message
            else:
                total = total + message
        return cls(problem, buckets, tuple(tables), total)

    def marginals(self) -> tuple[Array, Array]:
        """`[batch, n, k]` and `[batch, e, k, k]`: of the values of each variable and of each pair."""
        return self._collected(self._scope_probabilities())

    def derivative(self, direction: LabelProblem) -> tuple[Array, Array]:
        """By how much the marginals change where the scores move along `direction`, a problem of the same pairs."""
        return self._collected(self._scope_derivatives(direction))

    def samples(self, uniforms: Array, given: Array | None = None) -> States:
        """`[batch, samples, n]`: by the inverse of each conditional's cumulative sums at `[batch, samples, n]`.

        Args:
            uniforms: in [0, 1).
            given: `[batch, samples, n]`, values that are not drawn, -1 for all others; None where all are drawn.
        """
        xp = namespace_of(self.problem.unary)
        chosen: dict[int, Array] = {}
        for step, table in self._downwards():
            rows, place = self._rows(step, table, chosen, uniforms.shape[1])
            sums = xp.cumulative_sum(xp.take(rows, xp.reshape(place, (-1,)), axis=0), axis=-1)
            draw = xp.reshape(uniforms[:, :, step.variable], (-1, 1)) * sums[:, -1:]
            value = xp.sum(xp.astype(sums[:, :-1] <= draw, xp.int64), axis=-1)
            value = xp.reshape(value, place.shape)
            fixed = None if given is None else given[:, :, step.variable]
            chosen[step.variable] = value if fixed is None else xp.where(fixed >= 0, fixed, value)
        return xp.stack([chosen[v] for v in range(self.problem.n)], axis=-1)

    def pulled_back(self, states: States, weights: Array) -> tuple[Array, Array]:
        """The gradient in the scores of the sum of weights * P(x_v = a | separator of v), the separators as in states.

        Going down as the marginals do: what a message is worth flows to the table that it was made of, and each
        conditional adds its own derivative to it.

        Args:
            states: `[batch, samples, n]`.
            weights: `[batch, samples, n, k]`.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`.
        """
        return self._collected(self._scope_gradients(states, weights))

    def _scope_gradients(self, states: States, weights: Array) -> Iterator[tuple[Step, Array]]:
        """The gradient in each step's table of scores, the last step first."""
        xp, above = namespace_of(self.problem.unary), _Above(self.buckets)
        chosen = {v: states[:, :, v] for v in range(self.problem.n)}
        for step, table in self._downwards():
            rows, place = self._rows(step, table, chosen, states.shape[1])
            size, flat = table.shape[1], xp.reshape(place, (-1,))
            own = xp.take(rows, flat, axis=0)
            weight = xp.reshape(weights[:, :, step.variable, :size], (-1, size))
            moved = own * (weight - xp.sum(own * weight, axis=-1, keepdims=True))
            gradient = np.zeros(rows.shape)
            np.add.at(gradient, to_numpy(flat), to_numpy(moved))  # the standard has no sum over equal places
            by_value_last = (table.shape[0], *table.shape[2:], size)
            own_part = xp.moveaxis(xp.reshape(beside(table, gradient), by_value_last), -1, 1)
            known = above.take(step)
            joint = own_part if known is None else own_part + table * known[:, None, ...]
            above.give(step, joint)
            yield step, joint

    def _rows(self, step: Step, table: Array, chosen: dict[int, Array], count: int) -> tuple[Array, Array]:
        """A table as rows of a conditional each, and which is that of each sample, `[batch, samples]`."""
        xp, batch = namespace_of(self.problem.unary), table.shape[0]
        place = xp.broadcast_to(beside(table, np.arange(batch)[:, None]), (batch, count))
        for u, length in zip(step.separator, table.shape[2:], strict=True):
            place = place * length + chosen[u]
        return xp.reshape(xp.moveaxis(table, 1, -1), (-1, table.shape[1])), place

    def _downwards(self) -> Iterator[tuple[Step, Array]]:
        return zip(reversed(self.buckets.steps), reversed(self.tables), strict=True)

    def _scope_probabilities(self) -> Iterator[tuple[Step, Array]]:
        """The probabilities of each step's scope, the last step first."""
        above = _Above(self.buckets)
        for step, table in self._downwards():
            known = above.take(step)
            joint = table if known is None else table * known[:, None, ...]
            above.give(step, joint)
            yield step, joint

    def _scope_derivatives(self, direction: LabelProblem) -> Iterator[tuple[Step, Array]]:
        """The derivatives of the probabilities of each step's scope, the last step first."""
        xp, messages, moves = namespace_of(self.problem.unary), dict[int, Array](), []
        for t, (step, table) in enumerate(zip(self.buckets.steps, self.tables, strict=True)):
            moved = joined(direction, self.buckets, step, messages)
            message = xp.sum(table * moved, axis=1, keepdims=True)
            moves.append(moved - message)
            if step.separator:
                messages[t] = message[:, 0, ...]
        above, above_moved = _Above(self.buckets), _Above(self.buckets)
        for (step, table), move in zip(self._downwards(), reversed(moves), strict=True):
            known, known_moved = above.take(step), above_moved.take(step)
            joint = table if known is None else table * known[:, None, ...]
            moved = joint * move
            if known_moved is not None:
                moved = moved + table * known_moved[:, None, ...]
            above.give(step, joint)
            above_moved.give(step, moved)
            yield step, moved

    def _collected(self, scopes: Iterator[tuple[Step, Array]]) -> tuple[Array, Array]:
        """What tables over scopes say of each variable and of each pair."""
        xp, problem = namespace_of(self.problem.unary), self.problem
        kind = {"dtype": xp.float64, "device": getattr(problem.unary, "device", None)}
        unary = xp.zeros((problem.batch, problem.n, problem.k), **kind)
        pairwise = xp.zeros((problem.batch, problem.e, problem.k, problem.k), **kind)
        for step, table in scopes:
            unary[:, step.variable, : table.shape[1]] = _summed(xp, table, (0,))
            for edge, place, second in step.edges:
                pair = _summed(xp, table, (0, place))
                if second:
                    pair = xp.matrix_transpose(pair)
                pairwise[:, edge, : pair.shape[1], : pair.shape[2]] = pair
        return unary, pairwise


class _Above:
    """What is known of separators: tables over scopes, kept until the last step below has read them."""

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


def _summed(xp: Any, table: Array, axes: tuple[int, ...]) -> Array:
    """A table `[batch, ...]` over some of its axes, which ascend."""
    others = tuple(axis + 1 for axis in range(table.ndim - 1) if axis not in axes)
    return xp.sum(table, axis=others) if others else table


def _log(xp: Any, values: Array) -> Array:
    """Logarithms; minus infinity of zeros, without a warning."""
    positive = values > 0
    logs = xp.log(xp.where(positive, values, xp.ones_like(values)))
    return xp.where(positive, logs, xp.full_like(logs, -np.inf))
