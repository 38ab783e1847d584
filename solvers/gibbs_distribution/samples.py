"""What is drawn: a sample after another for callers, an instance after another for kernels; over bits and labels."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import States, as_array, to_numpy
from ..errors import ProblemError


class Drawn(NamedTuple):
    """Samples, and what a derivative weighs the conditionals of their variables by.

    Attributes:
        z: `[batch, samples, n]`.
        chosen: `[batch, samples, m]`, variables.
        changes: `[batch, samples, m]`, finite.
    """

    z: States
    chosen: np.ndarray
    changes: np.ndarray


class Batched(Protocol):
    """What is asked here of a problem, over bits or over labels."""

    @property
    def n(self) -> int:
        """Variables."""

    @property
    def batch(self) -> int:
        """Instances."""

    @property
    def leading(self) -> tuple[int, ...]:
        """Their dimensions, as the caller gave them."""


def by_instance(problem: Batched, array: np.ndarray) -> np.ndarray:
    """`[batch, samples, ...]` of `[samples, batch, ...]` with the problem's leading dimensions for the batch."""
    flat = array.reshape(len(array), problem.batch, *array.shape[1 + len(problem.leading) :])
    return np.ascontiguousarray(flat.swapaxes(0, 1))


def by_sample(problem: Batched, array: np.ndarray) -> np.ndarray:
    """`[samples, batch, ...]`, with the problem's leading dimensions for the batch, of `[batch, samples, ...]`."""
    swapped = np.ascontiguousarray(array.swapaxes(0, 1))
    return swapped.reshape(len(swapped), *problem.leading, *array.shape[2:])


def checked_uniforms(
    problem: Batched, uniforms: Any, variables: tuple[int, ...], why: str = ""
) -> np.ndarray:
    """`[batch, samples, variables]`, float64.

    Args:
        problem: with whose leading dimensions.
        uniforms: `[samples, batch, variables]`, in [0, 1).
        variables: `(n,)` for one a variable, `()` for one a state.
        why: what the error says of the shape.

    Raises:
        ProblemError: they have another shape, range or precision.
    """
    given, expected = to_numpy(as_array(uniforms, "uniforms")), (*problem.leading, *variables)
    if given.dtype.kind not in "biuf":
        raise ProblemError(f"uniforms must be numbers in [0, 1); their type is {given.dtype}")
    if given.dtype.kind == "f" and given.dtype.itemsize < 8:
        raise ProblemError(
            f"uniforms must be drawn in float64; those of {given.dtype} are too coarse for many states"
        )
    given = given.astype(np.float64, copy=False)
    if given.shape[1:] != expected or not given.ndim:
        raise ProblemError(
            f"uniforms must be [samples, {', '.join(map(str, expected))}]{why}; their shape is {given.shape}"
        )
    outside = np.argwhere(~((given >= 0) & (given < 1)))
    if len(outside):
        where = tuple(outside[0].tolist())
        raise ProblemError(f"uniforms{list(where)} is {given[where]}; they must be in [0, 1)")
    return by_instance(problem, given)
