"""X and y as callers pass them to the estimators, checked and stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, shortened
from .instances import Instances


@dataclass(frozen=True, eq=False)
class Inputs:
    """The checked contents of X.

    Attributes:
        features: `[n, d]` for each instance: arrays, or sparse arrays of scipy.
        edges: `[e, 2]` for each instance, int64.
        pair_features: `[e, p]` for each instance; None if all edges share one table.
    """

    features: list[Any]
    edges: list[np.ndarray]
    pair_features: list[Any] | None = None


def is_table(x: Any) -> bool:
    """Return True if X is `[samples, d]`, one node per row, and False if it lists instances.

    An array `[instances, length, d]` lists chains of equal length.

    Raises:
        DataError: X is an empty list.
    """
    if getattr(x, "ndim", 0) == 3:
        return False
    is_list = isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.dtype == object)
    if not is_list:
        return True
    if not len(x):
        raise DataError("X has no instances")
    # An empty list may be a chain without positions, so it does not decide.
    first = next((instance for instance in x if not _is_empty(instance)), x[0])
    if isinstance(first, tuple):
        return False
    if isinstance(first, list):
        return _is_empty(first) or not _has_features(first[0])
    return getattr(first, "ndim", 0) < 2


def _is_empty(instance: Any) -> bool:
    return isinstance(instance, list) and not instance


def _has_features(node: Any) -> bool:
    """Return whether an entry of a list is the features of a node, and not a number."""
    return isinstance(node, list | tuple | Mapping) or getattr(node, "ndim", 0) > 0


def of_rows(features: Any) -> Inputs:
    """Make one instance of each row of checked features `[samples, d]`."""
    no_edges = np.empty((0, 2), np.int64)
    return Inputs([features], [no_edges] * features.shape[0])


def of_chains(x: Sequence[Any]) -> Inputs:
    """Check a list of features `[length, d]`, and pair each position with the next.

    Raises:
        DataError: an element is not a matrix of finite numbers.
    """
    features = [_matrix(chain, f"X[{number}]") for number, chain in enumerate(x)]
    steps = {length: _steps(length) for length in {chain.shape[0] for chain in features}}
    return Inputs(features, [steps[chain.shape[0]] for chain in features])


def _steps(length: int) -> np.ndarray:
    return np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)


def of_graphs(x: Sequence[Any]) -> Inputs:
    """Check a list of (features, edges) or (features, edges, pair features).

    Raises:
        DataError: an element has another form, or features that are not finite.
    """
    features = []
    edges = []
    pair_features = []
    for number, graph in enumerate(x):
        name = f"X[{number}]"
        if not isinstance(graph, tuple) or len(graph) not in (2, 3) or len(graph) != len(x[0]):
            raise DataError(
                f"{name} must be (features, edges), or (features, edges, pair features) in all "
                f"instances; got {shortened(graph)}"
            )
        features.append(_matrix(graph[0], name))
        edges.append(_edges(graph[1], features[-1].shape[0], name))
        if len(graph) == 3:
            pair_features.append(_matrix(graph[2], f"pair features of {name}", len(edges[-1])))
    return Inputs(features, edges, pair_features or None)


def _matrix(values: Any, name: str, rows: int | None = None) -> Any:
    """Check a matrix of finite numbers, and return it as float64, dense or CSR.

    Args:
        values: the matrix.
        name: its name in messages.
        rows: the number of rows it must have; None for any but 0.
    """
    if hasattr(values, "tocsr"):
        matrix = values.tocsr().astype(np.float64)
        numbers = matrix.data
    else:
        try:
            matrix = np.asarray(values, np.float64)
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise DataError(
                f"{name} must be features [n, d], or a list of dictionaries; got "
                f"{shortened(values)}"
            ) from error
        numbers = matrix
    if rows is None and (matrix.ndim != 2 or not matrix.shape[0]):
        raise DataError(f"{name} must be [n, d], n at least 1; its shape is {matrix.shape}")
    if rows is not None and (matrix.ndim != 2 or matrix.shape[0] != rows):
        raise DataError(
            f"{name} must be [{rows}, p], one row per edge; its shape is {matrix.shape}"
        )
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} must be finite; it contains nan or infinity")
    return matrix


def _edges(values: Any, n: int, name: str) -> np.ndarray:
    try:
        edges = np.asarray(values)
        if edges.size == 0:
            edges = edges.reshape(-1, 2)
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"edges of {name} must be [e, 2]; got {shortened(values)}") from error
    if edges.ndim != 2 or edges.shape[1] != 2 or (edges.size and edges.dtype.kind not in "iu"):
        raise DataError(f"edges of {name} must be [e, 2] integers; got {shortened(values)}")
    edges = edges.astype(np.int64)
    if edges.size and not ((edges >= 0) & (edges < n)).all():
        raise DataError(f"edges of {name} must join nodes 0 to {n - 1}; got {shortened(values)}")
    return edges


def stacked(
    inputs: Inputs, borders: bool, width: int | None = None, pair_width: int | None = None
) -> Instances:
    """Stack the instances, and add features for the borders or an intercept.

    Args:
        inputs: the instances.
        borders: True adds two features, which mark the first and the last node of an instance;
            False adds one feature, which is 1 at every node.
        width: the number of features of a node in training; None during training.
        pair_width: the number of features of an edge in training; None during training.

    Raises:
        DataError: instances have different numbers of features.
    """
    features = _stack(inputs.features, "features", width)
    lengths = np.ones(len(inputs.edges), np.int64)
    if len(inputs.features) == len(inputs.edges):
        lengths = np.array([matrix.shape[0] for matrix in inputs.features])
    extra = np.ones((features.shape[0], 1))
    if borders:
        ends = np.cumsum(lengths)
        extra = np.zeros((features.shape[0], 2))
        extra[ends - lengths, 0] = 1
        extra[ends - 1, 1] = 1
    pair_features = None
    if inputs.pair_features is not None:
        pair_features = _stack(inputs.pair_features, "pair features", pair_width)
    return Instances.of(_append_columns(features, extra), pair_features, lengths, inputs.edges)


def _stack(matrices: list[Any], name: str, width: int | None) -> Any:
    """Stack matrices vertically, which must all have `width` columns."""
    if width is None:
        width = matrices[0].shape[1]
    widths = {matrix.shape[1] for matrix in matrices}
    if widths != {width}:
        other = next(iter(widths - {width}))
        raise DataError(f"all {name} must have {width} columns; got some with {other}")
    if len(matrices) == 1:
        return matrices[0]
    if not any(hasattr(matrix, "tocsr") for matrix in matrices):
        return np.concatenate(matrices)
    from scipy.sparse import vstack  # an optional dependency

    return vstack(matrices, format="csr")


def _append_columns(features: Any, extra: np.ndarray) -> Any:
    if not hasattr(features, "tocsr"):
        return np.concatenate([features, extra], axis=1)
    from scipy.sparse import csr_array, hstack  # an optional dependency

    return hstack([csr_array(features), csr_array(extra)], format="csr")


def labels_of(y: Any, lengths: np.ndarray) -> np.ndarray:
    """Check the labels of all instances, and return them one after the other: `[nodes]`.

    Raises:
        DataError: y is not one list per instance with one label per node.
    """
    if not isinstance(y, list | tuple | np.ndarray) or len(y) != len(lengths):
        raise DataError(
            f"y must be a list of labels for {len(lengths)} instances; got {shortened(y)}"
        )
    try:
        arrays = [_label_array(labels) for labels in y]
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"y must be a list of arrays or lists; got {shortened(y)}") from error
    for number, (labels, length) in enumerate(zip(arrays, lengths, strict=True)):
        if labels.shape != (length,):
            raise DataError(
                f"y[{number}] must be [{length}], one label per node; its shape is {labels.shape}"
            )
    return np.concatenate(arrays)


def is_missing(label: object) -> bool:
    """Return whether a label is None, nan, or what pandas has for a missing value."""
    if label is None or type(label).__name__ == "NAType":
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def _label_array(labels: Any) -> np.ndarray:
    """Return labels as an array, which holds objects where one of them is a set or missing.

    numpy would make the text "nan" of a nan beside texts.
    """
    is_list = isinstance(labels, list | tuple)
    if is_list and any(is_missing(label) or isinstance(label, set | frozenset) for label in labels):
        array = np.empty(len(labels), object)
        array[:] = labels
        return array
    return np.asarray(labels)
