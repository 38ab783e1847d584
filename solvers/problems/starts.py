"""Check the initial states of a caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import States, as_array, to_numpy
from ..errors import OptionError, shortened
from .problem import Problem


def over_batch(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast values of all n variables, of one instance or several, to the batch `[..., n]`.

    Args:
        name: the name of the argument, for errors.
        values: `[n]`, or `[..., n]` whose leading dimensions broadcast; a value for one variable
            does not broadcast to all.
        shape: the shape of the result.

    Raises:
        OptionError: the values have another shape.
    """
    if values.ndim and values.shape[-1] == shape[-1]:
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            pass
    got = "a number"
    if values.ndim:
        got = f"the shape {values.shape}"
    if len(shape) == 1:
        whole = f"[{shape[-1]}]"
    else:
        whole = f"[{shape[-1]}] or {list(shape)}"
    raise OptionError(f"{name} must be {whole}, a value for each variable; got {got}")


def given_states(start: Any, problem: Problem) -> States | None:
    """Return the caller's assignments as `[batch, n]` int8, broadcast to the batch; None for none.

    Raises:
        OptionError: they have another shape, or other numbers than zeros and ones.
    """
    if start is None:
        return None
    states = to_numpy(as_array(start, "start"))
    states = over_batch("start", states, (*problem.leading, problem.n))
    if states.dtype.kind not in "biuf" or not np.isin(states, (0, 1)).all():
        raise OptionError(f"start must contain only zeros and ones; got {shortened(start)}")
    return states.reshape(problem.batch, problem.n).astype(np.int8)
