"""Compute sums over labels and their derivatives, by elimination.

The sums give log-partitions, marginals and samples. The derivatives are those of marginals and of
conditionals.

In the upward pass, sums over the variable of each step give the conditional of the variable given
its separator, and finally log Z. In the downward pass, the probabilities of a separator come from
the step that eliminates its first variable.

Small tables of conditionals are kept. Large ones are computed again from messages, a block at a
time, whenever a pass reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from ...arrays import Array, Scores, States, beside, namespace_of, to_numpy
from ...limits.limited_sums import check_time
from ..problem import LabelProblem
from .buckets import Buckets, Step, terms
from .step_tables import ComputedTable, KeptTable, Place, StepTable, block_of, joined_blocks
from .sum_memory import Way
from .sweep import Sweep

Block: TypeAlias = tuple[Step, Place, Array]
"""Block `[batch, values, ...]` of a table over a step's scope, with its place."""

Message: TypeAlias = Array | None
"""Message `[batch, sizes of the separator]`; None if the table itself is kept."""


@dataclass(frozen=True, eq=False)
class _MessageOfStep:
    """Function that computes the message of a step; it is an object so that pickle can copy it.

    Attributes:
        problem: the problem with the scores.
        buckets: the elimination of the problem.
        way: which tables are kept.
        tables: {step: table}; a call stores the table of its step here if tables are kept.
    """

    problem: LabelProblem
    buckets: Buckets
    way: Way
    tables: dict[int, Array]

    def __call__(self, t: int, below: dict[int, Message]) -> Message:
        step = self.buckets.steps[t]
        scores = tuple(terms(self.problem, self.buckets, step, below))
        table = ComputedTable.of(step, scores, self.way.block)
        if not self.way.keeps_tables:
            return table.message()
        self.tables[t], passed = table.whole()
        return passed


@dataclass(frozen=True, eq=False)
class Conditionals:
    """Distributions p(x) = exp(score(x)) / Z of a batch, as products of p(x_v | separator of v).

    Attributes:
        problem: the problem with the scores.
        buckets: the elimination of the problem.
        way: which tables and messages are kept.
        tables: {step: `[batch, sizes of its scope]`}, if they are kept.
        messages: the message of each step, from which all other tables are computed.
        log_partition: `[batch]`, minus infinity if everything is forbidden.
    """

    problem: LabelProblem
    buckets: Buckets
    way: Way
    tables: dict[int, Array]
    messages: Sweep[Message]
    log_partition: Scores

    @classmethod
    def of(cls, problem: LabelProblem, buckets: Buckets, way: Way) -> Conditionals:
        """Return the distribution of a problem, by one upward pass."""
        tables: dict[int, Array] = {}
        message = _MessageOfStep(problem, buckets, way, tables)
        messages = Sweep.up(buckets, way.segments, message)
        xp = namespace_of(problem.unary)
        total = xp.zeros_like(problem.unary[:, 0, 0], dtype=xp.float64)
        for root in messages.roots():
            total = total + root
        # The tables contain everything that the downward pass needs.
        if way.keeps_tables:
            messages = messages.emptied()
        return cls(problem, buckets, way, tables, messages, total)

    def marginals(self) -> tuple[Array, Array]:
        """Return the marginals of variables `[batch, n, k]` and of pairs `[batch, e, k, k]`."""
        return self._collected(self._scope_probabilities())

    def derivative(self, direction: LabelProblem) -> tuple[Array, Array]:
        """Return the directional derivative of the marginals in the scores.

        The direction is a problem with the same pairs.
        """
        return self._collected(self._scope_derivatives(direction))

    def samples(self, uniforms: Array, evidence: Array | None = None) -> States:
        """Draw samples `[batch, samples, n]` by inverting the cumulative conditionals.

        Args:
            uniforms: numbers in [0, 1).
            evidence: `[batch, samples, n]`, values that are not drawn, -1 for variables to draw;
                None to draw all.
        """
        xp = namespace_of(self.problem.unary)
        chosen: dict[int, Array] = {}
        for _, table in self._downwards():
            variable = table.step.variable
            sums = xp.cumulative_sum(table.rows(chosen, uniforms), axis=-1)
            # A row may sum to slightly less than 1. Scaling by its sum keeps draws inside the row.
            draw = uniforms[:, :, variable][..., None] * sums[..., -1:]
            # Counting without the last sum keeps the value below the number of values.
            value = xp.sum(xp.astype(sums[..., :-1] <= draw, xp.int64), axis=-1)
            if evidence is not None:
                fixed = evidence[:, :, variable]
                value = xp.where(fixed >= 0, fixed, value)
            chosen[variable] = value
        return xp.stack([chosen[v] for v in range(self.problem.n)], axis=-1)

    def at(self, states: States) -> Array:
        """Return P(x_v = a | separator of v), `[batch, samples, n, k]`.

        The separators have their values in `states [batch, samples, n]`.
        """
        conditionals = beside(self.problem.unary, np.zeros((*states.shape, self.problem.k)))
        chosen = {v: states[:, :, v] for v in range(self.problem.n)}
        for _, table in self._downwards():
            of_variable = table.rows(chosen, states)
            conditionals[:, :, table.step.variable, : table.shape[1]] = of_variable
        return conditionals

    def pulled_back(self, states: States, weights: Array) -> tuple[Array, Array]:
        """Return the gradient in the scores of a weighted sum of conditionals.

        The sum is over weights * P(x_v = a | separator of v), with the separators' values in
        `states`.

        The pass goes down like that of the marginals. The gradient of a message flows to the table
        that it was computed from, and each conditional adds its own derivative.

        Args:
            states: `[batch, samples, n]`.
            weights: `[batch, samples, n, k]`.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`.
        """
        return self._collected(self._scope_gradients(states, weights))

    def _downwards(self) -> Iterator[tuple[int, StepTable]]:
        for t, below in self.messages.down():
            check_time()
            yield t, self._table(t, below)

    def _table(self, t: int, below: dict[int, Message]) -> StepTable:
        """Return the table of a step, from the messages of its children."""
        step = self.buckets.steps[t]
        if self.way.keeps_tables:
            return KeptTable(step, self.tables[t])
        scores = tuple(terms(self.problem, self.buckets, step, below))
        return ComputedTable.of(step, scores, self.way.block)

    def _scope_probabilities(self) -> Iterator[Block]:
        """Yield the probabilities of each step's scope, the last step first."""
        above = _Above(self.buckets)
        for t, table in self._downwards():
            outside = above.take(t)
            for place, block in table.blocks():
                joint = block
                if outside is not None:
                    # The conditional of the first variable times the probability of its separator.
                    joint = block * _across(outside, place)
                above.give(table, place, joint)
                yield table.step, place, joint

    def _scope_gradients(self, states: States, weights: Array) -> Iterator[Block]:
        """Yield the gradient in each step's table of scores, the last step first."""
        xp = namespace_of(self.problem.unary)
        above = _Above(self.buckets)
        chosen = {v: states[:, :, v] for v in range(self.problem.n)}
        hosted = to_numpy(states)
        for t, table in self._downwards():
            outside = above.take(t)
            conditionals = table.rows(chosen, states)
            weight = weights[:, :, table.step.variable, : table.shape[1]]
            # The derivative of a softmax p along w is p (w - <p, w>).
            moved = conditionals * (weight - xp.sum(conditionals * weight, axis=-1, keepdims=True))
            moves = to_numpy(moved)
            for place, block in table.blocks():
                joint = beside(block, _scattered(table.step, place, hosted, moves))
                if outside is not None:
                    joint += block * _across(outside, place)
                above.give(table, place, joint)
                yield table.step, place, joint

    def _scope_derivatives(self, direction: LabelProblem) -> Iterator[Block]:
        """Yield the derivatives of the probabilities of each step's scope, the last step first.

        The rate of a message is the mean of the direction's score below it. Probabilities and their
        derivatives flow down side by side.
        """
        xp = namespace_of(self.problem.unary)

        def read(t: int, below: dict[int, tuple[Message, Array]]) -> tuple[StepTable, list[Array]]:
            messages = {child: message for child, (message, _) in below.items()}
            rates = {child: rate for child, (_, rate) in below.items()}
            scores = terms(direction, self.buckets, self.buckets.steps[t], rates)
            return self._table(t, messages), list(scores)

        def passed(t: int, below: dict[int, tuple[Message, Array]]) -> tuple[Message, Array]:
            table, scores = read(t, below)
            rates = (
                (place, xp.sum(block * _total(scores, place), axis=1))
                for place, block in table.blocks()
            )
            return table.message(), joined_blocks((table.shape[0], *table.shape[2:]), rates)

        sweep = Sweep.up(self.buckets, self.way.segments, passed)
        above = _Above(self.buckets)
        above_moved = _Above(self.buckets)
        for t, below in sweep.down():
            table, scores = read(t, below)
            outside = above.take(t)
            outside_moved = above_moved.take(t)
            for place, block in table.blocks():
                moved = _total(scores, place)
                rate = xp.sum(block * moved, axis=1, keepdims=True)
                joint = block
                if outside is not None:
                    joint = block * _across(outside, place)
                # The derivative of a conditional is the conditional times its score's rate minus
                # the mean rate.
                move = joint * (moved - rate)
                if outside_moved is not None:
                    move += block * _across(outside_moved, place)
                above.give(table, place, joint)
                above_moved.give(table, place, move)
                yield table.step, place, move

    def _collected(self, scopes: Iterator[Block]) -> tuple[Array, Array]:
        """Sum blocks of tables over scopes to one table per variable and per pair."""
        xp = namespace_of(self.problem.unary)
        problem = self.problem
        kind = {"dtype": xp.float64, "device": getattr(problem.unary, "device", None)}
        unary = xp.zeros((problem.batch, problem.n, problem.k), **kind)
        pairwise = xp.zeros((problem.batch, problem.e, problem.k, problem.k), **kind)
        for step, place, block in scopes:
            check_time()
            values = slice(0, block.shape[1])
            left = block
            for edge, axis, second in sorted(step.edges, key=itemgetter(1), reverse=True):
                left = _first_axes(xp, left, axis + 1)  # the remaining pairs need no other axes
                pair = _ends(xp, left)
                if second:
                    pairwise[:, edge, place[axis - 1], values] += xp.matrix_transpose(pair)
                else:
                    pairwise[:, edge, values, place[axis - 1]] += pair
            unary[:, step.variable, values] += _first_axes(xp, left, 1)
        return unary, pairwise


class _Above:
    """Sums of tables over scopes, for the separators of steps below.

    A separator's array is dropped once its step has taken it.
    """

    def __init__(self, buckets: Buckets):
        self._buckets = buckets
        self._separators: dict[int, Array] = {}

    def give(self, table: StepTable, place: Place, block: Array) -> None:
        """Add a block of a table over the scope of a step, at its place."""
        xp = namespace_of(block)
        scope = table.step.scope
        for child in table.step.children:
            axes = tuple(scope.index(u) for u in self._buckets.steps[child].separator)
            block_sums = _summed(xp, block, axes)
            # A block that is the whole table is the only one, so it needs no sum.
            if tuple(block.shape) == table.shape:
                self._separators[child] = block_sums
                continue
            if child not in self._separators:
                shape = (table.shape[0], *(table.shape[axis + 1] for axis in axes))
                device = getattr(block, "device", None)
                self._separators[child] = xp.zeros(shape, dtype=block.dtype, device=device)
            spans = (slice(0, table.shape[1]), *place)
            self._separators[child][(slice(None), *(spans[axis] for axis in axes))] += block_sums

    def take(self, t: int) -> Array | None:
        """Remove and return `[batch, sizes of the separator of a step]`; None without an array."""
        return self._separators.pop(t, None)


def _across(outside: Array, place: Place) -> Array:
    """Return a block of an array over a separator, with an axis for the step's variable."""
    return outside[(slice(None), *place)][:, None, ...]


def _total(scores: list[Array], place: Place) -> Array:
    """Return the sum of a block's scores."""
    first, *others = (block_of(term, place) for term in scores)
    return sum(others, start=first)


def _scattered(step: Step, place: Place, states: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return a block `[batch, values, ...]` with the contributions of samples to their rows.

    Args:
        step: the step of the table.
        place: the place of the block.
        states: `[batch, samples, n]`.
        moves: `[batch, samples, values]`.
    """
    batch, _, values = moves.shape
    lengths = [span.stop - span.start for span in place]
    inside = np.ones(states.shape[:2], bool)
    below = np.zeros(states.shape[:2], np.int64)
    for u, span, length in zip(step.separator, place, lengths, strict=True):
        value = states[:, :, u] - span.start
        inside &= (value >= 0) & (value < length)
        below = below * length + value
    gradient = np.zeros((batch, values, prod(lengths)))
    instance, sample = np.nonzero(inside)
    rows = instance[:, None], np.arange(values), below[instance, sample][:, None]
    np.add.at(gradient, rows, moves[instance, sample])  # equal places add up
    return gradient.reshape(batch, values, *lengths)


def _summed(xp: Any, table: Array, axes: tuple[int, ...]) -> Array:
    """Sum a table `[batch, ...]` to some of its axes, which ascend."""
    others = tuple(axis + 1 for axis in range(table.ndim - 1) if axis not in axes)
    if others:
        return xp.sum(table, axis=others)
    return table


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
    """Sum a table `[batch, first, ..., last]` to its first and last axis."""
    batch, first, *between, last = table.shape
    size = prod(between)
    if size == 1:
        return xp.reshape(table, (batch, first, last))
    rows = xp.reshape(table, (batch, first, size, last))
    return xp.matmul(_ones(xp, table, size), rows)


def _ones(xp: Any, like: Array, count: int) -> Array:
    return xp.ones(count, dtype=like.dtype, device=getattr(like, "device", None))
