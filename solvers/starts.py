"""States to start from, as a caller gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import States, as_array, to_numpy
from .errors import OptionError, shortened
from .problem import Problem


def given_states(start: Any, problem: Problem) -> States | None:
    """`[batch, n]` int8: the caller's assignments, which broadcast to the batch; None if there are none.

    Raises:
        OptionError: another shape, or other numbers than zeros and ones.
    """
    if start is None:
        return None
    states = to_numpy(as_array(start, "start"))
    try:
        states = np.broadcast_to(states, (*problem.leading, problem.n))
    except ValueError:
        raise OptionError(
            f"start must be [..., {problem.n}] and broadcast to {(*problem.leading, problem.n)}; its shape "
            f"is {states.shape}"
        ) from None
    if states.dtype.kind not in "biuf" or not np.isin(states, (0, 1)).all():
        raise OptionError(f"start must hold zeros and ones alone; got {shortened(start)}")
    return states.reshape(problem.batch, problem.n).astype(np.int8)
