"""States to start from, as a caller gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import States, as_array, to_numpy
from .errors import OptionError, shortened
from .problem import Problem


def over_batch(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Values of all n variables, of one instance or of each of a batch, as `[..., n]` of the batch.

    Args:
        name: of the argument, for errors.
        values: `[n]`, or `[..., n]` whose leading dimensions broadcast; a value for one variable is
            none for all.
        shape: of the result.

    Raises:
        OptionError: another shape.
    """
    if values.ndim and values.shape[-1] == shape[-1]:
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            pass
    said = "a number" if not values.ndim else f"of the shape {values.shape}"
    whole = f"[{shape[-1]}]" if len(shape) == 1 else f"[{shape[-1]}] or {list(shape)}"
    raise OptionError(f"{name} must be {whole}, a value for each variable; it is {said}")


def given_states(start: Any, problem: Problem) -> States | None:
    """`[batch, n]` int8: the caller's assignments, which broadcast to the batch; None if there are none.

    Raises:
        OptionError: another shape, or other numbers than zeros and ones.
    """
    if start is None:
        return None
    states = to_numpy(as_array(start, "start"))
    states = over_batch("start", states, (*problem.leading, problem.n))
    if states.dtype.kind not in "biuf" or not np.isin(states, (0, 1)).all():
        raise OptionError(f"start must hold zeros and ones alone; got {shortened(start)}")
    return states.reshape(problem.batch, problem.n).astype(np.int8)
