"""Bound the weight of a cut by multipliers of odd-cycle inequalities, exactly in integers.

Any multipliers y >= 0 bound every cut x:

    w x  <=  sum_k y_k (|F_k| - 1) + sum_e max(0, w_e - sum_k y_k a_ke),

where the inequality of cycle k is x(F_k) - x(C_k - F_k) <= |F_k| - 1, F_k odd. The multipliers of a
linear program are rounded to whole numbers of 1 / scale, so that rounding errors of the linear
program do not affect the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

LARGEST = 2.0**61
"""Largest sum of magnitudes."""

MOST_BITS = 40
"""Largest number of bits of the fraction of a multiplier; a linear program gives fewer."""


@dataclass(frozen=True, eq=False)
class Cycles:
    """Odd-cycle inequalities, stored one after the other.

    Attributes:
        starts: `[k + 1]`, the first entry of each inequality.
        edges: `[entries]`.
        odd: `[entries]`, whether the edge is in F.
    """

    starts: Int[np.ndarray, "k1"]
    edges: Int[np.ndarray, "entries"]
    odd: Bool[np.ndarray, "entries"]

    @classmethod
    def none(cls) -> Cycles:
        """Return an empty list of inequalities."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """`[k]`, number of edges of each cycle."""
        return np.diff(self.starts)

    @property
    def right_sides(self) -> np.ndarray:
        """`[k]`, the right side |F| - 1 of each inequality."""
        if not len(self):
            return self.lengths
        return np.add.reduceat(self.odd.astype(np.int64), self.starts[:-1]) - 1

    @property
    def signs(self) -> np.ndarray:
        """`[entries]`, the coefficients: 1 in F and -1 outside."""
        return np.where(self.odd, 1, -1)

    def take(self, kept: np.ndarray) -> Cycles:
        """Return the inequalities at the places `kept [j]`."""
        lengths = self.lengths[kept]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.arange(starts[-1]) + np.repeat(self.starts[:-1][kept] - starts[:-1], lengths)
        return Cycles(starts, self.edges[entries], self.odd[entries])

    def joined(self, others: Cycles) -> Cycles:
        """Return these inequalities followed by others."""
        return Cycles(
            np.concatenate((self.starts, self.starts[-1] + others.starts[1:])),
            np.concatenate((self.edges, others.edges)),
            np.concatenate((self.odd, others.odd)),
        )

    def activity(self, x: np.ndarray) -> np.ndarray:
        """Return the left sides `[k]` at x `[m]`."""
        if not len(self):
            return np.empty(0)
        return np.add.reduceat(self.signs * x[self.edges], self.starts[:-1])


@dataclass(frozen=True, eq=False)
class Certificate:
    """A bound with the multipliers that prove it; numbers are whole, in units of 1 / scale.

    Attributes:
        cycles: the inequalities.
        multipliers: `[k]`, >= 0.
        residual: `[m]`, scale times the weights, minus the terms of the inequalities.
        bound: scale times the bound.
        scale: a power of two.
    """

    cycles: Cycles
    multipliers: Int[np.ndarray, "k"]
    residual: Int[np.ndarray, "m"]
    bound: int
    scale: int

    @classmethod
    def of(
        cls,
        weights: np.ndarray,
        cycles: Cycles,
        multipliers: np.ndarray,
        low: np.ndarray | None = None,
        high: np.ndarray | None = None,
    ) -> Certificate:
        """Return the certificate that multipliers give.

        Args:
            weights: `[m]`, whole.
            cycles: k inequalities.
            multipliers: `[k]`, floats; negative ones and NaN count as zero.
            low: `[m]`, 0, or the value of a fixed edge; None without fixed edges.
            high: `[m]`, 1, or the value of a fixed edge; None without fixed edges.
        """
        # Any nonnegative multipliers give a valid bound, so those of the solver need not be exact.
        positive = np.where(multipliers > 0, multipliers, 0.0)
        magnitude = np.abs(weights).sum(dtype=np.float64) + 1.0
        size = magnitude + float(positive @ (2.0 * cycles.lengths + 1))
        # Multipliers this large would overflow the integers: the trivial bound is used instead.
        if not size < LARGEST / 4:
            positive = np.zeros(len(cycles))
            size = magnitude
        # The largest power of two at which all sums stay within int64.
        scale = 1 << max(0, min(MOST_BITS, int(np.log2(LARGEST / (size + cycles.lengths.sum())))))
        whole = np.rint(positive * scale).astype(np.int64)
        cycles = cycles.take(np.flatnonzero(whole))
        whole = whole[whole != 0]
        residual = scale * weights
        np.subtract.at(residual, cycles.edges, cycles.signs * np.repeat(whole, cycles.lengths))
        # Lagrangian bound: an edge of positive residual weight is cut, a fixed one as it is fixed.
        best = residual > 0
        if low is not None and high is not None:
            best = np.where(low == high, low, best)
        bound = int((whole * cycles.right_sides).sum()) + int(residual[best.astype(bool)].sum())
        return cls(cycles, whole, residual, bound, scale)

    @property
    def value(self) -> int:
        """The largest whole weight of a cut that the bound allows."""
        return self.bound // self.scale

    def decided(self, best: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges that every cut heavier than `best` has, and those it lacks, `[m]` each.

        This holds if no edge was fixed, or if such cuts have the fixed values.
        """
        spare = self.bound - self.scale * (best + 1)
        far = np.abs(self.residual) > spare
        return far & (self.residual > 0), far & (self.residual < 0)
