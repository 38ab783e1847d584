"""Ising models: fields and couplings of spins."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ..problem import Problem
from .conversion import Conversion, Labels, Sense, converted, places_of
from .couplings import by_names, check_terms, couplings_of, ends_of, ordered_labels
from .energy import energy_of, named
from .objective import Quadratic
from .terms import real_array, sums_at

SPINS = (-1, 1)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused by name
def from_ising(h: Any, J: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name
    """From sum_i h_i s_i + sum_(i,j) J[i,j] s_i s_j with spins s = 2z - 1, every entry counted.

    Args:
        h: `[n]`, or a dict of labels, or a pandas Series.
        J: `[n, n]`, a dict of label pairs, or a pandas DataFrame as `from_qubo` takes one; an entry
            (i, i) is a constant, since s_i^2 = 1.
        sense: whether the original is minimised or maximised.

    Raises:
        ProblemError: `h` or `J` is neither, or not finite.
        OptionError: `sense` is neither word.

    Example:
        >>> conversion = from_ising([0.5, 0.0], {(0, 1): -1.0})
        >>> float(conversion.value(conversion.problem.score([0, 0])))  # spins -1, -1
        -1.5
    """
    h = by_names("h", h)
    J = by_names("J", J)  # noqa: N806  # its name
    fields = h if isinstance(h, Mapping) else dict(enumerate(real_array("h", h, 1).tolist()))
    labels = ordered_labels((*fields, *ends_of(J)))
    linear = np.zeros(len(labels))
    place = places_of(labels)
    linear[[place[label] for label in fields]] = real_array("h", list(fields.values()), 1)
    check_terms([[label] for label in labels], linear)
    pairs, weights = couplings_of(J, labels)
    original = Quadratic((), linear, pairs, weights, SPINS)
    loops = pairs[:, 0] == pairs[:, 1]
    constant = weights.sum() - linear.sum()
    pairs = pairs[~loops]
    weights = weights[~loops]
    # h s = 2h z - h, and J s s' = 4J z z' - 2J (z + z') + J
    ends = sums_at(len(labels), pairs.ravel(), np.repeat(weights, 2))
    return converted(
        sense, labels, 2 * (linear - ends), pairs, 4 * weights, float(constant), SPINS, original
    )


def to_ising(
    problem: Problem, labels: Labels | None = None
) -> tuple[dict[Hashable, float], dict[tuple[Hashable, Hashable], float], float]:
    """(h, J, offset) with -score(z) = sum h_i s_i + sum J[i,j] s_i s_j + offset, spins s = 2z - 1.

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_ising(Problem.from_arrays([0.0, 0.0], [[0.0, 4.0], [0.0, 0.0]]))
        ({0: -1.0, 1: -1.0}, {(0, 1): -1.0}, -1.0)
    """
    names, unary, pairs, weights = energy_of(problem, labels)
    ends = sums_at(len(names), pairs.ravel(), np.repeat(weights, 2))
    # z = (s + 1) / 2, so z z' = (s s' + s + s' + 1) / 4
    fields = dict(zip(names, (unary / 2 + ends / 4).tolist(), strict=True))
    return fields, named(names, pairs, weights / 4), float(unary.sum() / 2 + weights.sum() / 4)
