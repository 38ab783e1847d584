"""Couplings of a dict of label pairs, or of a matrix, read into one form."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral
from typing import Any, cast

import numpy as np

from ..errors import ProblemError, shortened
from .conversion import Labels, places_of
from .terms import Pairs, Weights, real_array


def by_names(name: str, values: Any) -> Any:
    """A table or a column of pandas as a dict of its own names; anything else as it is.

    Args:
        name: of the argument, for errors.
        values: a DataFrame, whose rows and columns are the same names in any order; a Series; or
            something else.

    Raises:
        ProblemError: a name that comes twice, or rows that are not named as columns are.
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


def ends_of(couplings: Any) -> Iterable[Hashable]:
    """The labels that a dict of pairs, or a matrix, speaks of.

    Raises:
        ProblemError: neither a dict of pairs nor a square matrix.
    """
    if not isinstance(couplings, Mapping):
        return range(len(_square(couplings)))
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in couplings):
        raise ProblemError("a dict of couplings must map pairs of labels to numbers")
    return (label for pair in couplings for label in pair)


def ordered_labels(found: Iterable[Hashable]) -> Labels:
    """The different labels: in order where all are integers, else as they come."""
    labels = list(dict.fromkeys(found))
    if any(label != label for label in labels):
        raise ProblemError(
            "a label is nan, which equals no other and names no variable; drop or rename it"
        )
    if all(isinstance(label, Integral) for label in labels):
        return tuple(sorted(cast("list[int]", labels)))
    return tuple(labels)


def couplings_of(couplings: Any, labels: Labels) -> tuple[Pairs, Weights]:
    """Pairs `[e, 2]` of places in z and their weights `[e]`; zeros of a matrix are left out.

    Raises:
        ProblemError: weights that are no finite real numbers.
    """
    place = places_of(labels)
    if isinstance(couplings, Mapping):
        ends = [(place[i], place[j]) for i, j in couplings]
        weights = real_array("the couplings", list(couplings.values()), 1)
        check_terms(couplings, weights)
        return np.array(ends, np.int64).reshape(-1, 2), weights
    matrix = _square(couplings)
    rows, columns = np.nonzero(matrix)
    check_terms(zip(rows.tolist(), columns.tolist(), strict=True), matrix[rows, columns])
    order = np.array([place[i] for i in range(len(matrix))], np.int64)
    return np.stack([order[rows], order[columns]], axis=-1), matrix[rows, columns]


def check_terms(names: Iterable[Iterable[Hashable]], terms: np.ndarray) -> None:
    """Refuses terms that are not finite, by the names of their variables.

    Raises:
        ProblemError: there is one.
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
