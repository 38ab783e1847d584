"""Check and rearrange samples and their uniforms, for bits and for labels.

Arrays of callers have samples first, and arrays of kernels have instances first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from typing_extensions import TypeVar  # with a default, as Python 3.13 has it

from ..arrays import Array, Home, States, as_array, to_numpy
from ..errors import ProblemError
from ..problems.topology import Topology


class Drawn(NamedTuple):
    """Samples, with the weights of the conditionals of their variables in a derivative.

    Attributes:
        z: `[batch, samples, n]`.
        chosen: `[batch, samples, m]`, the variables.
        changes: `[batch, samples, m]`, finite.
    """

    z: States
    chosen: np.ndarray
    changes: np.ndarray


class Batched(Protocol):
    """Properties of a problem over bits or labels that sums and completions use."""

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def batch(self) -> int:
        """Number of instances."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The caller's leading dimensions."""

    @property
    def home(self) -> Home[Any]:
        """The kind of arrays and the device to which answers go back."""

    @property
    def topology(self) -> Topology:
        """The pairs."""

    def restore(self, array: Array) -> Any:
        """Return `[batch, ...]` with the caller's leading dimensions, kind and device."""


ProblemT = TypeVar("ProblemT", bound=Batched, default=Any)
"""A problem of either kind."""


def by_instance(problem: Batched, array: np.ndarray) -> np.ndarray:
    """Rearrange `[samples, batch, ...]` into `[batch, samples, ...]`.

    In the argument, the problem's leading dimensions represent the batch.
    """
    flat = array.reshape(len(array), problem.batch, *array.shape[1 + len(problem.leading) :])
    return np.ascontiguousarray(flat.swapaxes(0, 1))


def by_sample(problem: Batched, array: np.ndarray) -> np.ndarray:
    """Rearrange `[batch, samples, ...]` into `[samples, batch, ...]`.

    In the result, the problem's leading dimensions represent the batch.
    """
    swapped = np.ascontiguousarray(array.swapaxes(0, 1))
    return swapped.reshape(len(swapped), *problem.leading, *array.shape[2:])


def by_completion(problem: Batched, completed: np.ndarray) -> np.ndarray:
    """Rearrange `[batch, samples, m, ..., n]` into `[samples, m, ..., batch, n]`.

    In the result, the problem's leading dimensions represent the batch.
    """
    moved = np.ascontiguousarray(np.moveaxis(completed, 0, -2))
    return moved.reshape(*moved.shape[:-2], *problem.leading, moved.shape[-1])


def checked_uniforms(
    problem: Batched, uniforms: Any, variables: tuple[int, ...], why: str = ""
) -> np.ndarray:
    """Check uniforms, and return them as `[batch, samples, variables]`, float64.

    Args:
        problem: the problem with the leading dimensions of the arrays.
        uniforms: `[samples, batch, variables]`, in [0, 1).
        variables: `(n,)` for one uniform per variable, `()` for one per state.
        why: the description of the shape in the error.

    Raises:
        ProblemError: they have another shape, range or precision.
    """
    numbers = to_numpy(as_array(uniforms, "uniforms"))
    expected = (*problem.leading, *variables)
    if numbers.dtype.kind not in "biuf":
        raise ProblemError(f"uniforms must be numbers in [0, 1); their type is {numbers.dtype}")
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize < 8:
        raise ProblemError(
            f"uniforms must be drawn in float64; those of {numbers.dtype} are too coarse "
            "for many states"
        )
    numbers = numbers.astype(np.float64, copy=False)
    if numbers.shape[1:] != expected or not numbers.ndim:
        raise ProblemError(
            f"uniforms must be [samples, {', '.join(map(str, expected))}]{why}; "
            f"their shape is {numbers.shape}"
        )
    # NaN compares false, so the negation reports it too.
    outside = np.argwhere(~((numbers >= 0) & (numbers < 1)))
    if len(outside):
        where = tuple(outside[0].tolist())
        raise ProblemError(f"uniforms{list(where)} is {numbers[where]}; they must be in [0, 1)")
    return by_instance(problem, numbers)


def checked_variables(
    problem: Batched, samples: int, variables: Any, fixed: np.ndarray
) -> np.ndarray:
    """Return the variables to complete, `[batch, samples, m]`; None means all free ones.

    Args:
        problem: the problem with the leading dimensions of the arrays.
        samples: number of samples.
        variables: `[m]` or `[samples, ..., m]`, the caller's argument; or None.
        fixed: `[n]`, bool, whether a variable has a known value.

    Raises:
        ProblemError: they have another shape or range, or a chosen variable is fixed.
    """
    if variables is None:
        variables = np.flatnonzero(~fixed)
    array = to_numpy(as_array(variables, "variables"))
    shape = (samples, *problem.leading)
    if array.dtype.kind not in "iu" or array.shape[:-1] not in ((), shape) or not array.ndim:
        raise ProblemError(
            f"variables must be whole numbers [m] or {(*shape, 'm')}; "
            f"they are {array.dtype} {array.shape}"
        )
    if array.size and not (array.min() >= 0 and array.max() < problem.n):
        raise ProblemError(
            f"variables must be at least 0 and below n = {problem.n}; "
            f"they go from {array.min()} to {array.max()}"
        )
    impossible = array[fixed[array]]
    if impossible.size:
        raise ProblemError(
            f"variable {impossible[0]} is fixed and has no other value; leave it out of variables"
        )
    whole = np.broadcast_to(array, (*shape, array.shape[-1])).astype(np.int64)
    return by_instance(problem, whole)


def checked_weights(
    problem: Batched, name: str, weights: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """Check the weights of conditionals; return them as `[batch, samples, ...]`, float64.

    Args:
        problem: the problem with the leading dimensions of the arrays.
        name: the name of the argument, for errors.
        weights: `[samples, ..., ...]`, finite.
        shape: the shape of the weights.

    Raises:
        ProblemError: they have another shape, or are not finite.
    """
    array = to_numpy(as_array(weights, name))
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise ProblemError(
            f"{name} must be real numbers {shape}; they are {array.dtype} {array.shape}"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ProblemError(f"{name} must be finite")
    return by_instance(problem, array)


class Direction(NamedTuple):
    """Direction in the space of scores.

    Attributes:
        unary: `[batch, n]`; for labels `[batch, n, k]`.
        pairwise: `[batch, e]`; for labels `[batch, e, k, k]`.
    """

    unary: np.ndarray
    pairwise: np.ndarray


def checked_direction(
    problem: Batched,
    unary: Any,
    pairwise: Any,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    largest: float,
) -> Direction:
    """Return a direction as float64 arrays over the batch.

    Args:
        problem: the problem with the leading dimensions of the arrays.
        unary: an array that broadcasts to the first shape; None for zeros.
        pairwise: an array that broadcasts to the second shape; None for zeros.
        shapes: the shapes of both, without the leading dimensions.
        largest: maximum magnitude.

    Raises:
        ProblemError: a part does not broadcast to its shape, or is not finite, or too large.
    """
    parts = []
    for name, values, shape in zip(("unary", "pairwise"), (unary, pairwise), shapes, strict=True):
        numbers = values
        if values is None:
            numbers = 0.0
        array = to_numpy(as_array(numbers, name))
        if array.dtype.kind not in "biuf":
            raise ProblemError(
                f"the {name} direction must be real numbers; its type is {array.dtype}"
            )
        with np.errstate(over="ignore"):  # of more than double precision
            array = array.astype(np.float64)
        # NaN compares false, so it raises the error as well.
        if not (np.abs(array) <= largest).all():
            raise ProblemError(f"the {name} direction must be finite{_up_to(largest)}")
        whole = (*problem.leading, *shape)
        try:
            array = np.broadcast_to(array, whole)
        except ValueError as error:
            raise ProblemError(
                f"the {name} direction must be {whole}; its shape is {array.shape}"
            ) from error
        parts.append(array.reshape(problem.batch, *shape))
    return Direction(*parts)


def _up_to(largest: float) -> str:
    """Return the words for a limit in an error; empty for the largest float64."""
    if largest >= np.finfo(np.float64).max or math.isinf(largest):
        return ""
    return f", of magnitudes up to {largest:g}"
