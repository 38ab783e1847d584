"""The names of features that are the columns of pandas tables, one table for each instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import DataError, shortened


def names_of(instances: Sequence[Any]) -> np.ndarray | None:
    """Return the column names `[d]` of features that are tables; None if there are none.

    Args:
        instances: the features of each instance.

    Raises:
        DataError: two tables have other columns, or the same columns in another order.
    """
    names = None
    for number, features in enumerate(instances):
        columns = _columns(features)
        if columns is None:
            continue
        if names is None:
            names = columns
        check_names(columns, names, f"X[{number}]", "the tables before it")
    if names is None:
        return None
    return np.array(names, object)


def check_names(columns: Iterable[str], names: Iterable[str], name: str, others: str) -> None:
    """Raise unless the columns of a table are those of others, in the same order.

    Args:
        columns: the columns of the table.
        names: the columns of the others.
        name: what the table is called in messages.
        others: what the others are called in messages.

    Raises:
        DataError: the columns differ.
    """
    if list(columns) != list(names):
        raise DataError(
            f"{name} must have the columns of {others}, in the same order: "
            f"{shortened(list(names))}; got {shortened(list(columns))}"
        )


def _columns(features: Any) -> list[str] | None:
    """Return the names of the columns of a table; None if there are none, or they are no texts."""
    columns = getattr(features, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    if not all(isinstance(name, str) for name in names):
        return None
    return names
