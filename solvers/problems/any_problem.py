"""Base of problems of every kind."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any, ClassVar, Generic

import numpy as np

from ..arrays import NUMPY, Array, ArrayT, Edges, Home, Scores, beside, namespace_of
from ..errors import ProblemError, shortened
from ..kept import kept
from .topology import Topology


class AnyProblem(Generic[ArrayT]):
    """Checked batch of problems of one kind: a `Problem` over bits, or a `LabelProblem`.

    Attributes:
        kind: "bits" or "labels"; it decides which solvers, and which part of the front end, take
            the problem.
        topology: the pairs.
        leading: the caller's leading dimensions; their product is `batch`.
        home: the library and device that answers go back to.
    """

    kind: ClassVar[str]

    topology: Topology
    leading: tuple[int, ...]
    home: Home[ArrayT]

    @property
    def batch(self) -> int:
        """Number of instances."""
        raise NotImplementedError

    @property
    def n(self) -> int:
        """Number of variables of an instance."""
        raise NotImplementedError

    @kept
    def e(self) -> int:
        """Number of edges."""
        return self.topology.e

    @kept
    def edges(self) -> Edges:
        """The edges `[e, 2]`, numpy int64, with `i < j` in every row and no row twice."""
        return self.topology.edges()

    @kept
    def rounding(self) -> Scores:
        """Maximum difference of a float64 score and its bound by rounding alone, `[batch]`.

        Each is a sum of up to n + e + 1 terms; closer scores count as equal. If all scores are
        whole multiples of a unit and all sums are exact, it is at most half a unit.
        """
        return _rounding_of(self.rounding_of_sums, self._units)

    @kept
    def tolerance(self) -> Scores:
        """Maximum gap at which a score still counts as optimal, `[batch]`.

        It is `rounding`, or minus infinity if `rounding` would hide whole units. This happens if
        scores have few digits but are too large for exact sums.
        """
        return _tolerance_of(self.rounding, self._units)

    @property
    def rounding_of_sums(self) -> Scores:
        """Maximum rounding error of sums of real numbers of this size, `[batch]`."""
        raise NotImplementedError

    @property
    def _units(self) -> np.ndarray | None:
        """The result of `units_of` for the scores."""
        raise NotImplementedError

    def restore(self, array: Array) -> ArrayT:
        """Return `[batch, ...]` with the caller's leading dimensions, kind and device."""
        if self.home is NUMPY and not self.leading:
            return array[0, ...]  # type: ignore[no-any-return]  # numpy's
        shape = (*self.leading, *array.shape[1:])
        if self.home is NUMPY:
            return array.reshape(shape)  # type: ignore[no-any-return]  # numpy's
        return self.home.place(namespace_of(array).reshape(array, shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch={self.batch}, n={self.n}, e={self.e})"

    @property
    def is_empty(self) -> bool:
        """Whether there are no instances or no variables."""
        return not self.batch or not self.n


def units_of(
    first: np.ndarray, second: np.ndarray, magnitude: np.ndarray, factor: float
) -> np.ndarray | None:
    """Return the result of `compiled.resolution.resolutions`."""
    units: np.ndarray | None = _kernels().resolutions(first, second, magnitude, factor)
    return units


def _rounding_of(of_sums: Scores, units: np.ndarray | None) -> Scores:
    """Return the allowance for rounding `[batch]`: half a unit if sums of units are exact."""
    if units is None:
        return of_sums
    half = beside(of_sums, np.where(np.isfinite(units), units / 2, np.inf))
    return namespace_of(of_sums).minimum(of_sums, half)


def _tolerance_of(rounding: Scores, units: np.ndarray | None) -> Scores:
    """Return `rounding` `[batch]`, or minus infinity for instances in which it hides units."""
    if units is None:
        return rounding
    hidden = beside(rounding, units == -np.inf)
    xp = namespace_of(rounding)
    return xp.where(hidden, xp.full_like(rounding, -math.inf), rounding)


@cache
def _kernels() -> Any:
    return importlib.import_module("..compiled.resolution", __package__)


def check_kind(problem: object, kind: type[AnyProblem[Any]]) -> None:
    """Raise if `problem` is not of a kind, for example if it is an array or a conversion.

    Args:
        problem: any object.
        kind: `Problem` or `LabelProblem`.

    Raises:
        ProblemError: it is not.
    """
    if isinstance(problem, kind):
        return
    hint = ""
    if isinstance(getattr(problem, "problem", None), kind):
        hint = "; pass its .problem"
    raise ProblemError(
        f"expected a {kind.__name__}, made by {kind.__name__}.from_arrays(unary, pairwise); got "
        f"{shortened(problem)}{hint}"
    )
