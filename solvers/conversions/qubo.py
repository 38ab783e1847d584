"""Convert QUBOs (quadratic unconstrained binary optimisation), sums over one matrix Q."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..problems.problem import Problem
from .conversion import Conversion, Labels, converted, sense_and_offset
from .couplings import by_names, couplings_of, linear_terms, ordered_labels, terms_of
from .energy import energy_of, named
from .objective import Quadratic
from .sense import Sense
from .terms import finite_constant


def from_qubo(
    Q: Any,  # noqa: N803  # the usual name
    offset: float | Sense = 0.0,
    sense: Sense = "minimise",
) -> Conversion:
    """Convert a QUBO: offset + sum_(i,j) Q[i,j] z_i z_j; every entry counts, (i, i) are linear.

    Args:
        Q: a dict of label pairs, `[n, n]` (symmetric, triangular or neither), or a pandas
            DataFrame, whose rows and columns are the same labels in any order. A dict may also have
            keys `(i,)`, which are linear terms, and `()`, which is a constant.
        offset: a constant, such as the second result of `to_qubo` of dimod or PyQUBO. A word here
            is read as `sense`.
        sense: whether the original is minimised or maximised: "minimise", "minimize" or "min", or
            "maximise", "maximize" or "max".

    Raises:
        ProblemError: `Q` has another form, or a number is not finite.
        OptionError: `sense` is not such a word.

    Example:
        >>> conversion = from_qubo([[1.0, -3.0], [0.0, 1.0]])
        >>> float(conversion.problem.score([1, 1])), conversion.value(1.0)
        (1.0, -1.0)
        >>> from_qubo({("a", "b"): 1.0}, offset=5.0).objective([0, 1])
        5.0
    """
    sense, number = sense_and_offset(sense, offset)
    terms = terms_of(by_names("Q", Q))
    added = finite_constant("the offset", number)
    constant = finite_constant("the constant term", terms.constant)
    labels = ordered_labels(terms.labels)
    linear = linear_terms(terms.linear, labels)
    pairs, weights = couplings_of(terms.pairs, labels)
    exact = terms.exact(number, {}, labels)
    original = Quadratic((added, constant), linear, pairs, weights, exact=exact)
    return converted(sense, labels, linear, pairs, weights, added + constant, original=original)


def to_qubo(
    problem: Problem, labels: Labels | None = None
) -> dict[tuple[Hashable, Hashable], float]:
    """Return the QUBO whose value is -score(z), as its entries Q[i, j] with i <= j.

    Every entry (i, i) is present, even if it is 0.

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
