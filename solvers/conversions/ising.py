"""Convert Ising models: fields and couplings of spins."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..problems.problem import Problem
from .conversion import Conversion, Labels, converted, sense_and_offset
from .couplings import by_names, couplings_of, linear_terms, ordered_labels, terms_of
from .energy import energy_of, named
from .exact import by_places, fraction_of
from .objective import Quadratic, total
from .sense import Sense
from .terms import finite_constant, real_array, sums_at

SPINS = (-1, 1)


@np.errstate(over="ignore", invalid="ignore")  # overflow is reported by name later
def from_ising(
    h: Any,
    J: Any,  # noqa: N803  # its name
    offset: float | Sense = 0.0,
    sense: Sense = "minimise",
) -> Conversion:
    """Convert an Ising model: offset + sum_i h_i s_i + sum_(i,j) J[i,j] s_i s_j; spins s = 2z - 1.

    Every entry of J counts, also if (i, j) and (j, i) are both present.

    Args:
        h: `[n]`, or a dict of labels, or a pandas Series; in a dict the key `()` is a constant.
        J: `[n, n]`, a dict of label pairs, or a pandas DataFrame as for `from_qubo`; an entry
            (i, i) is a constant, since s_i^2 = 1. In a dict the keys `(i,)` are fields and the key
            `()` is a constant.
        offset: a constant, such as the last of the three results of `to_ising` of this module,
            dimod or PyQUBO. A word here is read as `sense`.
        sense: whether the original is minimised or maximised, as for `from_qubo`.

    Raises:
        ProblemError: `h` or `J` has another form, or a number is not finite.
        OptionError: `sense` is not such a word.

    Example:
        >>> conversion = from_ising([0.5, 0.0], {(0, 1): -1.0})
        >>> float(conversion.value(conversion.problem.score([0, 0])))  # spins -1, -1
        -1.5
    """
    sense, number = sense_and_offset(sense, offset)
    fields = _fields(by_names("h", h))
    terms = terms_of(by_names("J", J))
    field_constant = fields.pop((), 0.0)
    constants = [
        finite_constant("the offset", number),
        finite_constant("the constant term", terms.constant),
        finite_constant("the constant term", field_constant),
    ]
    labels = ordered_labels((*fields, *terms.labels))
    linear = linear_terms(fields, labels) + linear_terms(terms.linear, labels)
    pairs, weights = couplings_of(terms.pairs, labels)
    exact = terms.exact(number, fields, labels)
    if exact is not None:
        exact = replace(exact, constant=exact.constant + fraction_of(field_constant))
    original = Quadratic(tuple(constants), linear, pairs, weights, SPINS, exact)
    loops = pairs[:, 0] == pairs[:, 1]
    constant = total([*constants, *weights.tolist(), *(-linear).tolist()])
    pairs = pairs[~loops]
    weights = weights[~loops]
    # h s = 2h z - h, and J s s' = 4J z z' - 2J (z + z') + J
    ends = sums_at(len(labels), pairs.ravel(), np.repeat(weights, 2))
    return converted(
        sense, labels, 2 * (linear - ends), pairs, 4 * weights, constant, SPINS, original
    )


def _fields(h: Any) -> dict[Hashable, Any]:
    """Return the fields by their labels."""
    h = by_places(h)
    if isinstance(h, Mapping):
        return dict(h)
    return dict(enumerate(real_array("h", h, 1).tolist()))


def to_ising(
    problem: Problem, labels: Labels | None = None
) -> tuple[dict[Hashable, float], dict[tuple[Hashable, Hashable], float], float]:
    """Return the Ising model (h, J, offset) whose energy is -score(z), with spins s = 2z - 1.

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
