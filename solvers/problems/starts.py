"""Read a value of each variable that a caller passes, for bits and for labels."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..arrays import States, as_array, to_numpy
from ..errors import OptionError, ProblemError, shortened


class Valued(Protocol):
    """A batch of problems whose variables have values from 0 on."""

    @property
    def batch(self) -> int:
        """Number of instances."""

    @property
    def n(self) -> int:
        """Number of variables of an instance."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading dimensions of the caller's arrays."""

    @property
    def sizes(self) -> np.ndarray:
        """Number of values of each variable, `[n]`."""


def given_states(start: Any, problem: Valued, kind: type[np.generic] = np.int8) -> States | None:
    """Return the caller's initial states as `[batch, n]`, broadcast to the batch; None for none.

    Args:
        start: `[n]` or `[..., n]`, a value of each variable; None for none.
        problem: a problem of any kind.
        kind: the type of the integers in the result.

    Raises:
        OptionError: they have another shape, or values that a variable does not have.
    """
    if start is None:
        return None
    whole = f"[{problem.n}]"
    if problem.leading:
        whole = f"{whole} or {[*problem.leading, problem.n]}"
    return read_values("start", start, problem, f"{whole}, a value for each variable").astype(kind)


def starts_of(start: Any, problem: Valued, kind: type[np.generic]) -> list[np.ndarray | None]:
    """Return a list `[batch]` of the initial states `[n]` of each instance; None for none.

    Arguments and errors are those of `given_states`.
    """
    states = given_states(start, problem, kind)
    if states is None:
        return [None] * problem.batch
    return list(states)


def read_values(name: str, given: Any, problem: Valued, form: str, least: int = 0) -> np.ndarray:
    """Return a value of each variable, `[batch, n]` int64.

    Args:
        name: the name of the argument, for errors.
        given: `[n]`, or `[..., n]` whose leading dimensions broadcast; a value for one variable
            does not broadcast to all.
        problem: a problem of any kind.
        form: describes the arrays that are possible, for errors.
        least: -1 to allow -1 beside the values of a variable.

    Raises:
        OptionError: the values have another shape, or a variable does not have its value.
    """
    try:
        values = to_numpy(as_array(given, name))
    except ProblemError as error:
        raise OptionError(f"{name} must be {form}; got {shortened(given)}") from error
    shape = (*problem.leading, problem.n)
    if not _fits(values.shape, shape):
        got = "a number"
        if values.ndim:
            got = f"the shape {values.shape}"
        raise OptionError(f"{name} must be {form}; got {got}")
    if values.dtype.kind not in "biuf":
        raise OptionError(f"{name} must be {form}; got {shortened(given)}")
    values = np.broadcast_to(values, shape).reshape(problem.batch, problem.n)
    # NaN compares false, so the negation reports it as well.
    wrong = ~((values >= least) & (values < problem.sizes))
    if values.dtype.kind == "f":
        wrong |= values != np.rint(values)
    if wrong.any():
        instance, variable = np.argwhere(wrong)[0].tolist()
        raise OptionError(no_value(name, problem, variable, values[instance, variable].item()))
    return values.astype(np.int64)


def no_value(name: str, problem: Valued, variable: int, value: object) -> str:
    """Return the message about a value that a variable does not have."""
    return (
        f"{name} gives variable {variable} the value {shortened(value)}; it has 0 to "
        f"{problem.sizes[variable] - 1}"
    )


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Return whether values of all n variables broadcast to the shape of the batch `[..., n]`."""
    if not shape or shape[-1] != whole[-1]:
        return False
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False
