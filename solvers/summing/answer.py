"""Gibbs distributions of conversions, with the names and objective of the original."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from ..arrays import to_numpy
from ..conversions import AnyConversion
from ..errors import OptionError, shortened
from ..gibbs_distribution.bits import Gibbs
from ..gibbs_distribution.distribution import Bound
from ..gibbs_distribution.estimate import GibbsEstimate
from ..labels.gibbs_distribution import LabelGibbs

AnySums: TypeAlias = Gibbs[np.ndarray] | LabelGibbs[np.ndarray] | GibbsEstimate[Any, np.ndarray]


@dataclass(frozen=True, eq=False)
class GibbsAnswer:
    """Gibbs distribution of the original objective of a conversion, by the original's names.

    p(x) = exp(objective(x)) / Z if the original is maximised. It is exp(-objective(x)) / Z if the
    original is minimised, as energies are. The objective includes its constant.

    Attributes:
        log_partition: log Z in nats, or a bound or estimate of it, as `bound` says. With evidence,
            Z is the sum over the assignments that agree.
        bound: "exact"; or "upper" or "lower", for a bound on log Z; or None, for an estimate.
        marginals: {name: {value: probability}}.
        samples: assignments {name: value}; None without uniforms.
        sums: the sums of the conversion's `problem`, whose log Z does not include the constant.

    Example:
        >>> from solvers import gibbs
        >>> from solvers.conversions import from_ising
        >>> answer = gibbs(from_ising({"a": 0.0, "b": 0.0}, {("a", "b"): -1.0}), fix={"a": 1})
        >>> round(answer.log_partition, 6), round(answer.marginals["b"][1], 6)  # log(e + 1/e)
        (1.126928, 0.880797)
    """

    log_partition: float
    bound: Bound
    marginals: Mapping[Hashable, Mapping[Hashable, float]]
    samples: tuple[dict[Hashable, Hashable], ...] | None
    sums: AnySums
    _conversion: AnyConversion[Any] = field(repr=False)

    @property
    def entropy(self) -> float:
        """The entropy -E[log p], in nats.

        Raises:
            OptionError: the sums are not exact.
        """
        return float(self._exact().entropy)

    @property
    def mean(self) -> float:
        """The expected objective, with its constant.

        Raises:
            OptionError: the sums are not exact.
        """
        return self._conversion.sign * (self.log_partition - self.entropy)

    def sample(self, uniforms: Any) -> tuple[dict[Hashable, Hashable], ...]:
        """Return independent samples, which are assignments {name: value}.

        Args:
            uniforms: as for `gibbs`; `uniforms_shape` gives the shape to draw.

        Raises:
            ProblemError: the uniforms have another shape, range or precision.
            OptionError: the sums are not exact.
        """
        return in_words(self._conversion, self._exact().sample(uniforms))

    def pair(self, first: Hashable, second: Hashable) -> dict[tuple[Hashable, Hashable], float]:
        """Return the joint probabilities of two variables: {(value, value): probability}.

        Args:
            first: the name of a variable.
            second: the name of another variable, with which it shares a term.

        Raises:
            OptionError: an unknown name, or two variables that share no term.
        """
        conversion = self._conversion
        places = conversion.places
        for name in (first, second):
            if name not in places:
                raise OptionError(
                    f"{shortened(name)} is no variable; "
                    f"the first one is {shortened(conversion.names[0])}"
                )
        i = places[first]
        j = places[second]
        low, high = sorted((i, j))
        edges = np.flatnonzero((self.sums.edges == (low, high)).all(axis=1))
        if not len(edges):
            raise OptionError(
                f"{shortened(first)} and {shortened(second)} share no term, so that the sums do "
                "not have the probabilities of their values together"
            )
        table = self._table(int(edges[0]))
        # The table has the earlier variable in its rows.
        if i > j:
            table = table.T
        both = product(enumerate(conversion.values_of(i)), enumerate(conversion.values_of(j)))
        return {(one, two): float(table[a, b]) for (a, one), (b, two) in both}

    def _table(self, edge: int) -> np.ndarray:
        """Return the joint probabilities `[values, values]` of a pair."""
        pairs: np.ndarray = self.sums.pairwise_marginals[edge]
        if pairs.ndim:
            return pairs
        i, j = self.sums.edges[edge]
        ones = self.sums.unary_marginals
        either = ones[i] + ones[j] - pairs
        table: np.ndarray = np.array([[1 - either, ones[j] - pairs], [ones[i] - pairs, pairs]])
        np.maximum(table, 0.0, out=table)  # differences of probabilities
        return table

    def _exact(self) -> Gibbs[np.ndarray] | LabelGibbs[np.ndarray]:
        """Return the sums if they are exact.

        Raises:
            OptionError: the sums are not exact.
        """
        if isinstance(self.sums, GibbsEstimate):
            raise OptionError(
                f"method={self.sums.method!r} has no entropy, mean or samples; "
                "they come from exact sums"
            )
        return self.sums


def answered(conversion: AnyConversion[Any], sums: AnySums) -> GibbsAnswer:
    """Return the sums of a conversion's problem with the names and objective of the original."""
    rows = _rows(sums.unary_marginals)
    marginals = {}
    for place, name in enumerate(conversion.names):
        values = conversion.values_of(place)
        marginals[name] = dict(zip(values, rows[place, : len(values)].tolist(), strict=True))
    samples = None
    if not isinstance(sums, GibbsEstimate) and sums.samples is not None:
        samples = in_words(conversion, sums.samples)
    return GibbsAnswer(
        log_partition=_log_partition(conversion, sums, rows),
        bound=sums.bound,
        marginals=marginals,
        samples=samples,
        sums=sums,
        _conversion=conversion,
    )


def in_words(
    conversion: AnyConversion[Any], samples: np.ndarray
) -> tuple[dict[Hashable, Hashable], ...]:
    """Return the assignment of each sample `[samples, n]`."""
    return tuple(dict(conversion.assignment(z)) for z in samples)


def _rows(marginals: np.ndarray) -> np.ndarray:
    """Return the probabilities `[n, values]` of the values of each variable; for bits 0 and 1."""
    if marginals.ndim == 2:
        return marginals
    return np.stack([1.0 - marginals, marginals], axis=1)


def _log_partition(conversion: AnyConversion[Any], sums: AnySums, rows: np.ndarray) -> float:
    """Return log Z of the original objective.

    At any state z it is sign * objective(z) + (log Z of the scores - score(z)). The objective is
    evaluated by the original's own terms, so that its constant costs no digits. For a likely state
    both summands are near the result.
    """
    log_z = float(sums.log_partition)
    z = rows.argmax(axis=1)
    score = float(to_numpy(sums.problem.score(z)))
    if not np.isfinite(score):  # values that are likely separately may be forbidden together
        return log_z + conversion.sign * conversion.constant
    return conversion.sign * conversion.objective(z) + (log_z - score)
