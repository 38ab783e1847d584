"""Read couplings from a dict of label pairs or from a matrix."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NoReturn, cast

import numpy as np

from ..arrays import is_sparse
from ..errors import ProblemError, shortened
from .conversion import Labels, places_of
from .exact import ExactTerms, by_places, floats, fraction_of, is_rounded
from .terms import Linear, Pairs, Weights, real_array


def by_names(name: str, values: Any) -> Any:
    """Return a pandas table or column as a dict of its names, and anything else unchanged.

    Args:
        name: the name of the argument, for errors.
        values: a DataFrame, whose rows and columns have the same names in any order; a Series; or
            any other object.

    Raises:
        ProblemError: a name occurs twice, or the rows and columns have different names.
    """
    if not hasattr(values, "index") or not hasattr(values, "to_numpy"):
        return values
    rows = list(values.index)
    _check_names(name, "row", rows)
    numbers = values.to_numpy().tolist()
    if not hasattr(values, "columns"):
        return dict(zip(rows, numbers, strict=True))
    columns = list(values.columns)
    _check_names(name, "column", columns)
    for one, other in ((rows, columns), (columns, rows)):
        if missing := [label for label in one if label not in set(other)]:
            raise ProblemError(
                f"the rows and columns of {name} must have the same names; "
                f"{shortened(missing[0])} is the name of one "
                f"alone. Pass {name}.to_numpy() where names mean nothing"
            )
    return {
        (i, j): number
        for i, row in zip(rows, numbers, strict=True)
        for j, number in zip(columns, row, strict=True)
    }


def _check_names(name: str, what: str, labels: list[Hashable]) -> None:
    if len(set(labels)) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        places = [place for place, label in enumerate(labels) if label == first][:2]
        raise ProblemError(
            f"{name} has two {what}s of the name {shortened(first)}, "
            f"at the places {places[0]} and {places[1]}"
        )


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of a dict or of a matrix, by their number of variables.

    Attributes:
        constant: the number at the key `()`; 0 without it.
        linear: {label: number} of the keys `(label,)`.
        pairs: {(label, label): number}, or a square matrix.
        labels: the labels of the variables, in order of appearance.
    """

    constant: Any
    linear: Mapping[Hashable, Any]
    pairs: Any
    labels: Iterable[Hashable]

    def exact(
        self, offset: Any, fields: Mapping[Hashable, Any], labels: Labels
    ) -> ExactTerms | None:
        """Return all terms as fractions if float64 rounds one of them, else None.

        Args:
            offset: a number that is added to the constant.
            fields: numbers that are added to the linear terms.
            labels: the labels of the variables, in the order of z.
        """
        if not isinstance(self.pairs, Mapping):
            return None
        numbers = (offset, self.constant, *fields.values(), *self.linear.values())
        if not any(map(is_rounded, (*numbers, *self.pairs.values()))):
            return None
        linear = [
            fraction_of(fields.get(label, 0)) + fraction_of(self.linear.get(label, 0))
            for label in labels
        ]
        weights = [fraction_of(number) for number in self.pairs.values()]
        constant = fraction_of(offset) + fraction_of(self.constant)
        return ExactTerms(constant, [*linear, *weights])


def terms_of(couplings: Any) -> Terms:
    """Return the constant, linear and quadratic terms of a dict or of a matrix.

    A dict maps pairs of labels to numbers. A key `(label,)` is a linear term, and the key `()` is
    the constant.

    Raises:
        ProblemError: the argument is neither such a dict nor a square matrix.
    """
    couplings = by_places(couplings)
    if is_sparse(couplings):
        return Terms(0.0, {}, couplings, range(_sparse_square(couplings).shape[0]))
    if not isinstance(couplings, Mapping):
        return Terms(0.0, {}, couplings, range(len(_square(couplings))))
    by_size: tuple[dict[Any, Any], ...] = ({}, {}, {})
    for key, number in couplings.items():
        if not isinstance(key, tuple) or len(key) > 2:
            _refuse_key(key, number)
        by_size[len(key)][key] = number
    constants, linear, pairs = by_size
    labels = [label for key in couplings for label in key]
    return Terms(
        constants.get((), 0.0), {label: n for (label,), n in linear.items()}, pairs, labels
    )


def _refuse_key(key: Any, number: Any) -> NoReturn:
    """Raise an error for a key that is not a pair of labels."""
    if isinstance(key, tuple):
        raise ProblemError(
            f"the key {shortened(key)} has {len(key)} labels; "
            "a dict of couplings must map pairs of labels to numbers"
        )
    term = f"({shortened(key)}, {shortened(key)})"
    raise ProblemError(
        f"a dict of couplings must map pairs of labels to numbers; for a linear term write "
        f"{term}: {shortened(number)} in place of {shortened(key)}: {shortened(number)}"
    )


def linear_terms(linear: Mapping[Hashable, Any], labels: Labels) -> Linear:
    """Return the linear terms `[n]` of a dict of labels.

    Raises:
        ProblemError: a term is not a finite real number.
    """
    terms = np.zeros(len(labels))
    place = places_of(labels)
    numbers = real_array("the linear terms", list(floats(linear).values()), 1)
    check_terms(((label,) for label in linear), numbers)
    terms[[place[label] for label in linear]] = numbers
    return terms


def ordered_labels(occurrences: Iterable[Hashable]) -> Labels:
    """Return the different labels, sorted if all are integers, else in order of appearance."""
    labels = list(dict.fromkeys(occurrences))
    if any(label != label for label in labels):
        raise ProblemError("a label is nan, which cannot name a variable; drop or rename it")
    if all(isinstance(label, Integral) for label in labels):
        return tuple(sorted(cast("list[int]", labels)))
    return tuple(labels)


def couplings_of(couplings: Any, labels: Labels) -> tuple[Pairs, Weights]:
    """Return pairs `[e, 2]` of places in z and their weights `[e]`, without zeros of a matrix.

    Raises:
        ProblemError: a weight is not a finite real number.
    """
    if is_sparse(couplings):
        return _sparse_couplings(couplings)
    place = places_of(labels)
    if isinstance(couplings, Mapping):
        ends = [(place[i], place[j]) for i, j in couplings]
        weights = real_array("the couplings", list(floats(couplings).values()), 1)
        check_terms(couplings, weights)
        return np.array(ends, np.int64).reshape(-1, 2), weights
    matrix = _square(couplings)
    rows, columns = np.nonzero(matrix)
    check_terms(zip(rows.tolist(), columns.tolist(), strict=True), matrix[rows, columns])
    order = np.array([place[i] for i in range(len(matrix))], np.int64)
    return np.stack([order[rows], order[columns]], axis=-1), matrix[rows, columns]


def _sparse_couplings(matrix: Any) -> tuple[Pairs, Weights]:
    """Return the stored entries of a sparse matrix, with the sum of entries at the same place.

    Raises:
        ProblemError: an entry is not a finite real number.
    """
    entries = _sparse_square(matrix)
    rows, columns = (np.asarray(places, np.int64) for places in (entries.row, entries.col))
    weights = real_array("the couplings", np.asarray(entries.data), 1)
    check_terms(zip(rows.tolist(), columns.tolist(), strict=True), weights)
    return np.stack([rows, columns], axis=-1), weights


def _sparse_square(matrix: Any) -> Any:
    """Return a square sparse matrix as its coordinates.

    Raises:
        ProblemError: the matrix is not square.
    """
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"a matrix of couplings must be square; its shape is {matrix.shape}")
    return matrix.tocoo()


def check_terms(names: Iterable[Iterable[Hashable]], terms: np.ndarray) -> None:
    """Raise if a term is not finite, and name its variables.

    Raises:
        ProblemError: a term is not finite.
    """
    if np.isfinite(terms).all():
        return
    for variables, term in zip(names, terms.tolist(), strict=True):
        if not math.isfinite(term):
            said = " and ".join(shortened(name) for name in dict.fromkeys(variables))
            raise ProblemError(f"the term of {said} is {term}; terms must be finite")


def _square(values: Any) -> np.ndarray:
    matrix = real_array("the couplings", values, 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"a matrix of couplings must be square; its shape is {matrix.shape}")
    return matrix
