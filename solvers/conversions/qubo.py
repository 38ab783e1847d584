"""Quadratic unconstrained binary optimisation: sums over one matrix Q."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..problem import Problem
from .conversion import Conversion, Labels, Sense, converted
from .couplings import by_names, couplings_of, ends_of, ordered_labels
from .energy import energy_of, named


def from_qubo(Q: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name everywhere
    """From sum_(i,j) Q[i,j] z_i z_j, every entry counted, those with i = j being the linear terms.

    Args:
        Q: a dict of label pairs, `[n, n]` (symmetric, triangular or neither), or a pandas
            DataFrame, whose rows and columns are the same labels in any order.
        sense: whether the original is minimised or maximised.

    Raises:
        ProblemError: `Q` is neither, or not finite.
        OptionError: `sense` is neither word.

    Example:
        >>> conversion = from_qubo([[1.0, -3.0], [0.0, 1.0]])
        >>> float(conversion.problem.score([1, 1])), conversion.value(1.0)
        (1.0, -1.0)
    """
    Q = by_names("Q", Q)  # noqa: N806  # its name everywhere
    labels = ordered_labels(ends_of(Q))
    pairs, weights = couplings_of(Q, labels)
    return converted(sense, labels, np.zeros(len(labels)), pairs, weights, 0.0)


def to_qubo(
    problem: Problem, labels: Labels | None = None
) -> dict[tuple[Hashable, Hashable], float]:
    """The entries Q[i, j], i <= j, of -score(z) = sum Q[i,j] z_i z_j; every (i, i) is there.

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_qubo(Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]]))
        {(0, 0): -1.0, (1, 1): 2.0, (0, 1): -3.0}
    """
    names, unary, pairs, weights = energy_of(problem, labels)
    linear = {(name, name): bias for name, bias in zip(names, unary.tolist(), strict=True)}
    return {**linear, **named(names, pairs, weights)}
