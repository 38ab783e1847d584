"""Read the initial labels of a caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_array, to_numpy
from ..errors import OptionError
from ..problems.starts import over_batch
from .problem import LabelProblem


def given_labels(start: Any, problem: LabelProblem) -> np.ndarray | None:
    """Broadcast the caller's labels to `[batch, n]` int64; return None without any.

    Raises:
        OptionError: the labels have another shape, or values that a variable does not have.
    """
    if start is None:
        return None
    labels = to_numpy(as_array(start, "start"))
    labels = over_batch("start", labels, (*problem.leading, problem.n))
    labels = labels.reshape(problem.batch, problem.n)
    if fault := problem.fault_of(labels):
        raise OptionError(f"start {fault}")
    return labels.astype(np.int64)


def starts_of(start: Any, problem: LabelProblem) -> list[np.ndarray | None]:
    """Return a list `[batch]` of the initial labels `[n]` of each instance; None for none."""
    labels = given_labels(start, problem)
    if labels is None:
        return [None] * problem.batch
    return list(labels)
