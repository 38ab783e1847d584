"""What callers give to the estimators, as stacked instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, shortened
from .instances import Instances


@dataclass(frozen=True, eq=False)
class Given:
    """Parts of X.

    Attributes:
        features: of each instance, `[n, d]`: arrays, or sparse arrays of scipy.
        edges: of each instance, `[e, 2]`, int64.
        pair_features: of each instance, `[e, p]`; None where all edges share one table.
    """

    features: list[Any]
    edges: list[np.ndarray]
    pair_features: list[Any] | None = None


def is_table(x: Any) -> bool:
    """Whether X is `[samples, d]`, each row being an instance of one place, rather than a list of instances."""
    if not isinstance(x, list | tuple) and not (isinstance(x, np.ndarray) and x.dtype == object):
        return True
    if not len(x):
        raise DataError("X has no instances")
    return (
        not isinstance(x[0], tuple)
        and getattr(x[0], "ndim", np.ndim(x[0]) if isinstance(x[0], list) else 0) < 2
    )


def of_rows(features: Any) -> Given:
    """Of checked features `[samples, d]`: an instance a row."""
    none = np.empty((0, 2), np.int64)
    return Given([features], [none] * features.shape[0])


def of_chains(x: Sequence[Any]) -> Given:
    """Of a list of features `[length, d]`: each place is paired with the next."""
    features = [_matrix(each, f"X[{number}]") for number, each in enumerate(x)]
    steps = {length: _steps(length) for length in {each.shape[0] for each in features}}
    return Given(features, [steps[each.shape[0]] for each in features])


def _steps(length: int) -> np.ndarray:
    return np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)


def of_graphs(x: Sequence[Any]) -> Given:
    """Of a list of (features, edges) or (features, edges, pair features)."""
    features, edges, of_pairs = [], [], []
    for number, each in enumerate(x):
        name = f"X[{number}]"
        if not isinstance(each, tuple) or len(each) not in (2, 3) or len(each) != len(x[0]):
            raise DataError(
                f"{name} must be (features, edges), or (features, edges, pair features) in all instances; "
                f"got {shortened(each)}"
            )
        features.append(_matrix(each[0], name))
        edges.append(_edges(each[1], features[-1].shape[0], name))
        if len(each) == 3:
            of_pairs.append(_matrix(each[2], f"pair features of {name}", len(edges[-1])))
    return Given(features, edges, of_pairs or None)


def _matrix(given: Any, name: str, rows: int | None = None) -> Any:
    """`[rows, columns]` of finite float64."""
    if hasattr(given, "tocsr"):
        matrix = given.tocsr().astype(np.float64)
        numbers = matrix.data
    else:
        try:
            matrix = numbers = np.asarray(given, np.float64)
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise DataError(f"{name} must be features [n, d]; got {shortened(given)}") from error
    if (
        matrix.ndim != 2
        or (rows is None and not matrix.shape[0])
        or (rows is not None and matrix.shape[0] != rows)
    ):
        wanted = "[n, d], n at least 1" if rows is None else f"[{rows}, p], a row an edge"
        raise DataError(f"{name} must be {wanted}; its shape is {matrix.shape}")
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} has nan or infinity among its features")
    return matrix


def _edges(given: Any, n: int, name: str) -> np.ndarray:
    try:
        edges = np.asarray(given)
        edges = edges.reshape(-1, 2) if edges.size == 0 else edges
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"edges of {name} must be [e, 2]; got {shortened(given)}") from error
    if edges.ndim != 2 or edges.shape[1] != 2 or (edges.size and edges.dtype.kind not in "iu"):
        raise DataError(f"edges of {name} must be [e, 2] integers; got {shortened(given)}")
    edges = edges.astype(np.int64)
    if edges.size and not ((edges >= 0) & (edges < n)).all():
        raise DataError(f"edges of {name} must be of places 0 to {n - 1}; got {shortened(given)}")
    return edges


def stacked(
    given: Given, borders: bool, width: int | None = None, pair_width: int | None = None
) -> Instances:
    """As one `Instances`.

    Args:
        given: what came.
        borders: whether two features are added that mark the first and the last place of an
            instance; else one, which is one everywhere.
        width: how many features a place had in training; None in training.
        pair_width: likewise, of an edge.

    Raises:
        DataError: instances have different numbers of features.
    """
    features = _one_below_the_other(given.features, "features", width)
    lengths = np.ones(len(given.edges), np.int64)
    if len(given.features) == len(given.edges):
        lengths = np.array([each.shape[0] for each in given.features])
    further = np.ones((features.shape[0], 1))
    if borders:
        ends = np.cumsum(lengths)
        further = np.zeros((features.shape[0], 2))
        further[ends - lengths, 0] = further[ends - 1, 1] = 1
    of_pairs = given.pair_features
    pairs = (
        None if of_pairs is None else _one_below_the_other(of_pairs, "pair features", pair_width)
    )
    return Instances.of(_beside(features, further), pairs, lengths, given.edges)


def _one_below_the_other(parts: list[Any], name: str, width: int | None) -> Any:
    widths = {part.shape[1] for part in parts}
    wanted = parts[0].shape[1] if width is None else width
    if widths != {wanted}:
        other = next(iter(widths - {wanted}))
        raise DataError(f"all {name} must have {wanted} columns; got some with {other}")
    if len(parts) == 1:
        return parts[0]
    if not any(hasattr(part, "tocsr") for part in parts):
        return np.concatenate(parts)
    from scipy.sparse import vstack  # optional

    return vstack(parts, format="csr")


def _beside(features: Any, further: np.ndarray) -> Any:
    if not hasattr(features, "tocsr"):
        return np.concatenate([features, further], axis=1)
    from scipy.sparse import csr_array, hstack  # optional

    return hstack([csr_array(features), csr_array(further)], format="csr")


def labels_of(y: Any, lengths: np.ndarray) -> np.ndarray:
    """`[places]`: the labels of all instances, one after the other.

    Raises:
        DataError: they are not one list an instance, each of its length.
    """
    if not isinstance(y, list | tuple | np.ndarray) or len(y) != len(lengths):
        raise DataError(
            f"y must be a list of labels for {len(lengths)} instances; got {shortened(y)}"
        )
    try:
        parts = [np.asarray(each) for each in y]
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"y must be a list of arrays or lists; got {shortened(y)}") from error
    for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if part.shape != (length,):
            raise DataError(
                f"y[{number}] must be [{length}], a label a place; its shape is {part.shape}"
            )
    return np.concatenate(parts)
