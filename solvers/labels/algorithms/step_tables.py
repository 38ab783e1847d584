"""Tables of conditionals of single steps, kept in memory or computed again block by block.

A step's table holds P(x_v = a | separator of v). It is exp(score - message), where the message is
the log-sum-exp of the scores over v. So any block of a table can be computed again from the
messages and the scores. A table has k times as many entries as its message, if v has k values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any, Final, TypeAlias

import numpy as np

from ...arrays import Array, as_float64, beside, namespace_of
from ...limits.limited_sums import check_time
from .buckets import Step

FACTORED: Final = 8
"""Minimum ratio of entries at which exp(sum) is computed as a product of exponentials.

The ratio compares the entries of the sum with those of its terms.
"""

DEEPEST: Final = -700.0
"""Lowest depth of a sum of scores below its peak at which no product underflows.

Products of exponentials underflow below -708.
"""

Place: TypeAlias = tuple[slice, ...]
"""Slices of the axes of a separator: where a block of a table lies."""


class StepTable(ABC):
    """Conditionals of one variable given its separator.

    Attributes:
        step: the elimination of the variable.
        shape: `(batch, values of the variable, values of each variable of the separator)`.
    """

    step: Step
    shape: tuple[int, ...]

    @abstractmethod
    def blocks(self) -> Iterator[tuple[Place, Array]]:
        """Yield blocks `[batch, values, ...]` of the conditionals, each with its place."""

    @abstractmethod
    def message(self) -> Array | None:
        """Return the message `[batch, ...]` over the separator; None if the table is kept."""

    @abstractmethod
    def rows(self, chosen: dict[int, Array], samples: Array) -> Array:
        """Return the conditionals `[batch, samples, values]` of the separators in samples.

        Args:
            chosen: `[batch, samples]`, the values of each variable of the separator.
            samples: `[batch, samples, ...]`, any array of this shape.
        """


@dataclass(frozen=True, eq=False)
class KeptTable(StepTable):
    """Table that stays in memory.

    Attributes:
        step: the elimination of the variable.
        table: `[batch, values, ...]`, the conditionals.
    """

    step: Step
    table: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read alone
        """`(batch, values, ...)`, the shape of the table."""
        return tuple(self.table.shape)

    def blocks(self) -> Iterator[tuple[Place, Array]]:
        """Yield the whole table."""
        yield tuple(slice(0, length) for length in self.shape[2:]), self.table

    def message(self) -> None:
        """Return None, since the table needs no message."""
        return

    def rows(self, chosen: dict[int, Array], samples: Array) -> Array:
        """Return rows of the table."""
        below = beside(self.table, np.zeros(samples.shape[:2], np.int64))
        for u, length in zip(self.step.separator, self.shape[2:], strict=True):
            below = below * length + chosen[u]
        return _conditionals(self.table, below)


@dataclass(frozen=True, eq=False)
class ComputedTable(StepTable):
    """Table that is computed block by block.

    Attributes:
        step: the elimination of the variable.
        shape: `(batch, values, ...)`.
        terms: arrays that add up to the scores, with the same number of axes; an axis may have
            length 1.
        most: maximum entries of a block, unless a single state of the separator has more.
    """

    step: Step
    shape: tuple[int, ...]
    terms: tuple[Array, ...]
    most: int

    @classmethod
    def of(cls, step: Step, terms: tuple[Array, ...], most: int) -> ComputedTable:
        """Return the table of the sum of terms."""
        shape = np.broadcast_shapes(*(tuple(term.shape) for term in terms))
        return cls(step, shape, terms, most)

    def whole(self) -> tuple[Array, Array]:
        """Return the conditionals `[batch, values, ...]` and the message `[batch, ...]`."""
        check_time()
        return _normalised(list(self.terms))

    def message(self) -> Array:
        """Return the message `[batch, ...]` over the separator."""
        messages = ((place, message) for place, (_, message) in self._computed())
        return joined_blocks((self.shape[0], *self.shape[2:]), messages)

    def blocks(self) -> Iterator[tuple[Place, Array]]:
        """Compute one block after the other."""
        for place, (block, _) in self._computed():
            yield place, block

    def rows(self, chosen: dict[int, Array], samples: Array) -> Array:
        """Compute the requested rows."""
        first, *others = (self._rows_of(term, chosen, samples) for term in self.terms)
        scores = sum(others, start=first)
        xp = namespace_of(scores)
        peak = _finite(xp, xp.max(scores, axis=-1, keepdims=True))
        weights = xp.exp(scores - peak)
        sums = xp.sum(weights, axis=-1, keepdims=True)
        # A row without any allowed value stays zero instead of NaN.
        return weights / xp.where(sums > 0, sums, xp.ones_like(sums))

    def _computed(self) -> Iterator[tuple[Place, tuple[Array, Array]]]:
        for place in places_of(self.shape, self.most):
            check_time()
            yield place, _normalised([block_of(term, place) for term in self.terms])

    def _rows_of(self, term: Array, chosen: dict[int, Array], samples: Array) -> Array:
        """Return the scores `[batch, samples, values]` that one term adds to the rows."""
        xp = namespace_of(term)
        shared, values, *lengths = term.shape
        count = prod(lengths)
        # A term that the batch shares has a single row for all instances.
        if shared > 1:
            first = np.arange(self.shape[0])[:, None]
        else:
            first = np.zeros((1, 1), np.int64)
        zeros = np.zeros(samples.shape[:2], np.int64)
        below = beside(term, zeros)
        # The place in the row-major flattened term, which does not vary along an axis of length 1.
        for u, length in zip(self.step.separator, lengths, strict=True):
            if length > 1:
                below = below * length + chosen[u]
        if values > 1:
            rows = np.arange(self.shape[1])
        else:
            rows = np.zeros(self.shape[1], np.int64)
        start = (first * values)[..., None] + rows  # [batch or 1, 1, values]
        places = below[..., None] + beside(term, start * count)
        flat = xp.take(xp.reshape(term, (-1,)), xp.reshape(places, (-1,)), axis=0)
        return as_float64(xp.reshape(flat, places.shape))


def places_of(shape: tuple[int, ...], most: int) -> Iterator[Place]:
    """Yield the places of blocks of at most `most` entries, in order.

    The first axes of the separator are split, so that blocks are contiguous if possible.

    Args:
        shape: the shape `(batch, values, ...)` of the table.
        most: maximum entries of a block, which has at least one state of the separator.
    """
    batch, values, *lengths = shape
    splits = []
    rest = batch * values * prod(lengths)
    for length in lengths:
        after = rest // length
        together = length
        if rest > most:
            together = max(1, most // after)
        splits.append([slice(a, min(a + together, length)) for a in range(0, length, together)])
        rest = after * min(together, length)
    yield from product(*splits)


def joined_blocks(shape: tuple[int, ...], blocks: Iterator[tuple[Place, Array]]) -> Array:
    """Return the array `[batch, ...]` that blocks form; a single block is returned as it is."""
    whole = None
    for place, block in blocks:
        if tuple(block.shape) == shape:
            return block
        if whole is None:
            xp = namespace_of(block)
            device = getattr(block, "device", None)
            whole = xp.zeros(shape, dtype=block.dtype, device=device)
        whole[(slice(None), *place)] = block
    return whole


def block_of(term: Array, place: Place) -> Array:
    """Return the part of a term `[batch, values, ...]` that is added to a block."""
    if not place:
        return term
    axes = [slice(None), slice(None)]
    for span, length in zip(place, term.shape[2:], strict=True):
        if length > 1:
            axes.append(span)
        else:  # the same for all values of a variable
            axes.append(slice(None))
    return term[tuple(axes)]


def _normalised(scores: list[Array]) -> tuple[Array, Array]:
    """Return the conditionals and the message of the scores of a block."""
    xp = namespace_of(scores[0])
    weights, peak = _exponentials(xp, scores)
    sums = xp.sum(weights, axis=1, keepdims=True)
    weights /= xp.where(sums > 0, sums, xp.ones_like(sums))
    return weights, (_log(xp, sums) + peak)[:, 0, ...]


def _exponentials(xp: Any, scores: list[Array]) -> tuple[Array, Array]:
    """Return exp(sum of scores - peak), and the peak.

    The peak does not vary along the first variable's axis.

    If the sum has many more entries than its terms, it is computed as the product of the terms'
    exponentials. This needs ranges of the terms for which no product underflows.
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
        # The product is at least exp of the sum of the least exponents, here far above underflow.
        if sum(float(xp.min(depth)) for depth in depths) > DEEPEST:
            factors = (xp.exp(term - peak) for term, peak in zip(scores, peaks, strict=True))
            return reduce(mul, factors), sum(peaks[1:], start=peaks[0])
    total = sum(scores[1:], start=scores[0])
    peak = _finite(xp, xp.max(total, axis=1, keepdims=True))
    return xp.exp(total - peak), peak


def _finite(xp: Any, peaks: Array) -> Array:
    """Return the peaks, with 0 in place of an infinite peak, which means that all is forbidden."""
    return xp.where(xp.isinf(peaks), xp.zeros_like(peaks), peaks)


def _log(xp: Any, values: Array) -> Array:
    """Return logarithms, minus infinity for zeros, without a warning."""
    positive = values > 0
    logs = xp.log(xp.where(positive, values, xp.ones_like(values)))
    return xp.where(positive, logs, xp.full_like(logs, -np.inf))


def _conditionals(table: Array, below: Array) -> Array:
    """Return the conditional `[batch, samples, size]` of each sample.

    Args:
        table: `[batch, size, ...]`.
        below: `[batch, samples]`, the separator's state in each sample, as a place in the flattened
            axes of the table after that of the first variable.
    """
    xp = namespace_of(table)
    (batch, size, *lengths) = table.shape
    rest = prod(lengths)
    if below.shape[1] < rest:  # few samples, so the table is not copied
        starts = np.arange(batch * size).reshape(batch, 1, size) * rest
        places = below[..., None] + beside(table, starts)
        return xp.reshape(
            xp.take(xp.reshape(table, (-1,)), xp.reshape(places, (-1,)), axis=0), places.shape
        )
    rows = xp.reshape(xp.moveaxis(table, 1, -1), (batch * rest, size))
    flat = xp.reshape(below + beside(table, rest * np.arange(batch)[:, None]), (-1,))
    return xp.reshape(xp.take(rows, flat, axis=0), (*below.shape, size))
