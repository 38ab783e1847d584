"""Reduce polynomials of bits to pairs with auxiliary bits, without a change of the maxima.

A term a * prod_(i in S) z_i of the score, with d = |S| >= 3, becomes the maximum over auxiliary
bits w of a sum of pairs.

References:
    Freedman, Drineas (2005), Energy minimization via graph cuts: settling what is possible.
    Ishikawa (2011), Transformation of general binary MRF minimization to the first-order case,
    equation 25.
    Rosenberg (1975), Reduction of bivalent maximization to the quadratic case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ..terms import Linear, Pairs, Weights
from .polynomial_terms import Scope
from .thresholds import Threshold


@dataclass(eq=False)
class Quadratisation:
    """Terms of one and two variables, with auxiliary bits after the n variables.

    Attributes:
        n: number of variables of the polynomial.
        linear: {place: contributions}.
        pairs: {(place, place): contributions}.
        auxiliary: the added bits, in the order of their places.
    """

    n: int
    linear: dict[int, list[float]] = field(default_factory=dict)
    pairs: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    auxiliary: list[Threshold] = field(default_factory=list)

    def add(self, scope: Scope, number: float) -> None:
        """Add a term of one or two variables."""
        if len(scope) == 1:
            self.linear.setdefault(scope[0], []).append(number)
            return
        low, high = sorted(scope)
        self.pairs.setdefault((low, high), []).append(number)

    def bit(self, threshold: Threshold) -> int:
        """Add an auxiliary bit, and return its place."""
        self.auxiliary.append(threshold)
        return self.n + len(self.auxiliary) - 1

    @property
    def contributions(self) -> Weights:
        """The numbers that the coefficients add up."""
        lists = [*self.linear.values(), *self.pairs.values()]
        return np.array([number for numbers in lists for number in numbers], np.float64)

    @property
    def summed(self) -> int:
        """The maximum number of contributions to one coefficient."""
        return max(map(len, [*self.linear.values(), *self.pairs.values()]), default=0)

    def arrays(self) -> tuple[Linear, Pairs, Weights]:
        """Return linear terms `[n + auxiliary]`, pairs `[e, 2]` and their weights `[e]`."""
        unary = np.zeros(self.n + len(self.auxiliary))
        for place, numbers in self.linear.items():
            unary[place] = sum(numbers)
        pairs = np.array(list(self.pairs), np.int64).reshape(-1, 2)
        return unary, pairs, np.array([sum(numbers) for numbers in self.pairs.values()])


def by_cliques(n: int, low: Mapping[Scope, float], high: Mapping[Scope, float]) -> Quadratisation:
    """Reduce each term separately, without penalties.

    A positive term adds one bit (Freedman and Drineas). A negative term of d variables adds
    (d - 1) // 2 bits (Ishikawa).
    """
    pairs = Quadratisation(n)
    for scope, number in low.items():
        pairs.add(scope, number)
    for scope, number in high.items():
        if number > 0:
            _add_positive(pairs, scope, number)
        else:
            _add_negative(pairs, scope, number)
    return pairs


def bits_of_cliques(high: Mapping[Scope, float]) -> int:
    """Return how many bits `by_cliques` adds."""
    count = 0
    for scope, number in high.items():
        if number > 0:
            count += 1
        else:
            count += (len(scope) - 1) // 2
    return count


def _add_positive(pairs: Quadratisation, scope: Scope, number: float) -> None:
    """Add the term a prod z, the maximum over w of a w (sum z - (d - 1)), for a > 0."""
    w = pairs.bit(Threshold.all_of(scope))
    for place in scope:
        pairs.add((place, w), number)
    pairs.add((w,), -number * (len(scope) - 1))


def _add_negative(pairs: Quadratisation, scope: Scope, number: float) -> None:
    """Add the term a prod z, for a < 0.

    It is the maximum over w of a (S2 + sum_i w_i (c_i (2 i - S1) - 1)).

    S1 = sum z; S2 is the sum of the products of all pairs; i runs from 1 to (d - 1) // 2; c_i = 2,
    but 1 for the last i if d is odd. The best w_i is 1 where S1 >= 2 i.
    """
    d = len(scope)
    for pair in combinations(scope, 2):
        pairs.add(pair, number)
    last = (d - 1) // 2
    for i in range(1, last + 1):
        c = 2
        if d % 2 and i == last:
            c = 1
        w = pairs.bit(Threshold.count(scope, 2 * i))
        pairs.add((w,), number * (2 * i * c - 1))
        for place in scope:
            pairs.add((place, w), -number * c)


def by_substitution(
    n: int, low: Mapping[Scope, float], high: Mapping[Scope, float]
) -> Quadratisation:
    """Replace the pair that most terms share by a bit, until no term has three (Rosenberg).

    For y = z_i z_j the penalty M (z_i z_j - 2 z_i y - 2 z_j y + 3 y) is subtracted: 0 where y is
    the product, and M or 3 M elsewhere. M is the most that a wrong y can gain.
    """
    pairs = Quadratisation(n)
    for scope, number in low.items():
        pairs.add(scope, number)
    left = dict(high)
    while left:
        pair = _most_shared(left)
        y = pairs.bit(Threshold.all_of(pair))
        replaced = {scope: number for scope, number in left.items() if set(pair) <= set(scope)}
        for scope, number in replaced.items():
            del left[scope]
            shorter = (*(place for place in scope if place not in pair), y)
            if len(shorter) > 2:
                left[shorter] = number
            else:
                pairs.add(shorter, number)
        _add_penalty(pairs, pair, y, _most_gained(replaced.values()))
    return pairs


def _most_gained(numbers: Collection[float]) -> float:
    """Return the maximum gain over all terms from a bit that is not the product of its pair."""
    gains = sum(number for number in numbers if number > 0)
    losses = sum(-number for number in numbers if number < 0)
    return max(gains, losses)


def _most_shared(scopes: Mapping[Scope, float]) -> tuple[int, int]:
    """Return the pair that occurs in most terms."""
    count: Counter[tuple[int, int]] = Counter()
    for scope in scopes:
        count.update(combinations(sorted(scope), 2))
    return max(count, key=lambda pair: (count[pair], pair))


def _add_penalty(pairs: Quadratisation, pair: tuple[int, int], y: int, most: float) -> None:
    pairs.add(pair, -most)
    for place in pair:
        pairs.add((place, y), 2 * most)
    pairs.add((y,), -3 * most)
