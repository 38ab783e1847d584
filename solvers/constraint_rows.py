"""Constraints in whole numbers, as solvers take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from .algorithms.precision.units import to_units
from .arrays import States
from .constraints import Constraint, listed
from .errors import OptionError, shortened

MOST = 2**53
"""Sums of whole coefficients are less."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints in whole numbers: low <= matrix z <= high.

    Attributes:
        matrix: `[c, n]`; the magnitudes of a row add up to less than 2^54.
        low: `[c]`.
        high: `[c]`.
        names: `[c]`.
    """

    matrix: Int[np.ndarray, "c n"]
    low: Int[np.ndarray, "c"]
    high: Int[np.ndarray, "c"]
    names: tuple[str, ...]

    @classmethod
    def of(cls, constraints: Any, n: int) -> Rows:
        """Those of a problem with n variables.

        Raises:
            OptionError: no list of constraints, or one that names a variable which is none.
        """
        given = listed(constraints)
        for each in given:
            if not isinstance(each, Constraint):
                raise OptionError(
                    f"constraints are made by solvers.constraints; got {shortened(each)}"
                )
        rows = [_row(each, n) for each in given]
        if not rows:
            return cls(np.zeros((0, n), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), ())
        matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
        return cls(matrix, low, high, tuple(each.name for each in given))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def magnitude(self) -> int:
        """The largest sum of magnitudes of a row."""
        return int(np.abs(self.matrix).sum(axis=1).max(initial=0))

    def satisfied(self, z: States) -> Bool[np.ndarray, "states"]:
        """`[states]`: whether states `[states, n]` satisfy them all."""
        sums = z.astype(np.int64) @ self.matrix.T
        return np.asarray(((sums >= self.low) & (sums <= self.high)).all(axis=1))

    def with_values(self, values: np.ndarray) -> Rows:
        """These, and that variables have the values `[n]` that are not -1."""
        fixed = np.flatnonzero(values >= 0)
        unit = np.eye(len(values), dtype=np.int64)[fixed]
        given = values[fixed].astype(np.int64)
        return Rows(
            np.concatenate((self.matrix, unit)),
            np.concatenate((self.low, given)),
            np.concatenate((self.high, given)),
            (*self.names, *(f"fix {i}" for i in fixed.tolist())),
        )

    def without(self, z: np.ndarray) -> Rows:
        """These, and that a state is not `z [n]`: it differs somewhere."""
        ones = int(z.sum())
        return Rows(
            np.concatenate((self.matrix, 1 - 2 * z.astype(np.int64)[None])),
            np.append(self.low, 1 - ones),
            np.append(self.high, len(z) - ones),
            (*self.names, "another state"),
        )

    def as_count(self) -> Count | None:
        """These as a range of how many variables of one group are 1, and fixed variables; None for anything else."""
        values, group = (
            np.full(self.matrix.shape[1], -1, np.int8),
            np.zeros(self.matrix.shape[1], bool),
        )
        low, high = 0, self.matrix.shape[1]
        for terms, least, most in self.terms():
            weights = {weight for _, weight in terms}
            members = [i for i, _ in terms]
            if len(weights) > 1 or (
                len(members) > 1 and group.any() and set(np.flatnonzero(group)) != {*members}
            ):
                return None
            weight = weights.pop() if weights else 1
            ends = (least, most) if weight > 0 else (most, least)
            least, most = (
                math.ceil(Fraction(ends[0], weight)),
                math.floor(Fraction(ends[1], weight)),
            )
            if not members:
                least, most = (0, len(values)) if least <= 0 <= most else (1, 0)
            if len(members) == 1:
                allowed = [
                    value
                    for value in (0, 1)
                    if least <= value <= most and values[members[0]] in (-1, value)
                ]
                values[members[0]] = allowed[0] if len(allowed) == 1 else values[members[0]]
                least, most = (0, len(values)) if allowed else (1, 0)
            if len(members) > 1:
                group[members] = True
            low, high = max(low, least), min(high, most)
        return Count(group, low, min(high, int(group.sum())), values)

    def terms(self) -> list[tuple[list[tuple[int, int]], int, int]]:
        """Each as ([(variable, coefficient)], low, high)."""
        found = []
        for row, low, high in zip(self.matrix, self.low.tolist(), self.high.tolist(), strict=True):
            used = np.flatnonzero(row)
            found.append((list(zip(used.tolist(), row[used].tolist(), strict=True)), low, high))
        return found


@dataclass(frozen=True, eq=False)
class Count:
    """How many variables of a group may be 1.

    Attributes:
        group: `[n]`.
        low: least number.
        high: greatest number; less than `low` where there is no state.
        values: `[n]`: what variables are fixed at, -1 for the others.
    """

    group: Bool[np.ndarray, "n"]
    low: int
    high: int
    values: Int[np.ndarray, "n"]

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest number of ones that the fixed variables of the group leave."""
        values = self.values[self.group]
        return int((values == 1).sum()), int((values != 0).sum())

    @property
    def impossible(self) -> bool:
        """Whether no state has such a count."""
        least, most = self.ends
        return self.low > self.high or self.high < least or self.low > most

    @property
    def implied(self) -> Int[np.ndarray, "n"]:
        """`[n]`: `values`, and the rest of the group where it has to be all 0 or all 1."""
        least, most = self.ends
        if least < self.high and self.low < most:
            return self.values
        rest = self.group & (self.values < 0)
        return np.where(rest, np.int8(self.high > least), self.values).astype(np.int8)


def _row(constraint: Constraint, n: int) -> tuple[np.ndarray, int, int]:
    given = (
        dict.fromkeys(range(n), 1.0) if constraint.coefficients is None else constraint.coefficients
    )
    if beyond := [i for i in given if i >= n]:
        raise OptionError(f"{constraint.name} names variable {beyond[0]}; there are 0 to {n - 1}")
    whole = np.zeros(n + 1, np.int64)
    whole[[*given, n]] = _whole_numbers([*given.values(), constraint.right])
    most, right = int(np.abs(whole[:n]).sum()), int(whole[n])
    low = right if constraint.comparison in (">=", "==") else -most
    high = right if constraint.comparison in ("<=", "==") else most
    return whole[:n], low, high


def _whole_numbers(numbers: Sequence[float]) -> np.ndarray:
    """Decimals as multiples of their common unit; what has no such unit is rounded to 53 bits of the sum."""
    exact = [Fraction(repr(float(number))) for number in numbers]
    unit = math.lcm(*(number.denominator for number in exact))
    whole = [int(number * unit) for number in exact]
    if sum(map(abs, whole)) < MOST:
        return np.array(whole, np.int64) // max(1, math.gcd(*whole))
    return to_units(np.array(numbers, np.float64)).values.astype(np.int64)
