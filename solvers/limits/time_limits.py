"""Check the time limits of callers, and make deadlines of them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from ..errors import OptionError, shortened
from .deadline import Deadline


def deadline_of(time_limit: float | Deadline | None) -> Deadline:
    """Return the deadline of a time limit: a deadline keeps its end, and seconds count from now.

    Raises:
        OptionError: the seconds are not positive.
    """
    if time_limit is None:  # most calls
        return Deadline.after(None)
    if isinstance(time_limit, Deadline):
        return Deadline.of(time_limit)
    return Deadline.of(seconds_of(time_limit))


def limit_of(time_limit: Any) -> float | Deadline | None:
    """Return a checked time limit: a deadline as it is, seconds, or None for no limit.

    Raises:
        OptionError: the seconds are not positive.
    """
    if isinstance(time_limit, Deadline):
        return time_limit
    return seconds_of(time_limit)


def seconds_of(time_limit: Any) -> float | None:
    """Return the time limit as a finite number of seconds; None for no limit."""
    if time_limit is None:
        return None
    try:
        if isinstance(time_limit, Real):
            seconds = float(time_limit)
        else:
            seconds = math.nan
    except OverflowError:  # more than a float holds
        seconds = math.nan
    if not seconds > 0:
        raise OptionError(
            f"time_limit must be positive seconds or None; got {shortened(time_limit)}"
        )
    if seconds < math.inf:
        return seconds
    return None
