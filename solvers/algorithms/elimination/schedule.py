"""The schedule of an elimination, as arrays that other kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled._kernels import elimination as kernels

MAX_BITS = 57  # of a separator

# Columns of Schedule.steps; a start is an index of the first item, an end that of the last plus 1.
VARIABLE, BIT_START, BIT_END, READ_START, READ_END, TABLE_OUT, WORD_START, LANE_OUT, ENTRY_START = range(9)
# Columns of Schedule.reads.
TABLE_IN, LANE_IN, ENTRY_IN, OWN_STRIDE, STRIDE_START, OFFSET_START = range(6)


class Schedule(NamedTuple):
    """What the kernels read.

    Attributes:
        steps: `[n, 9]`, by step: the variable eliminated; its range of separator bits; its range of reads;
            where its message goes and the decision words of earlier steps, for max_sum_tables; the same
            with the entries of earlier steps for max_sum_lanes.
        variables: `[bits]`, variable of every separator bit.
        edges: `[bits]`, the edge between that and the step's variable, or -1.
        reads: `[messages, 6]`, by message that a step reads: where it is for either kernel, and where all
            messages are kept; its stride of the step's variable; the starts of the next two.
        strides: in the message, of every separator bit of the step that reads it; 0 where it has none.
        offsets: in the message, of every entry of the step that reads it; empty where these are too many.
    """

    steps: np.ndarray
    variables: np.ndarray
    edges: np.ndarray
    reads: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, compiled: kernels.Schedule) -> Schedule:
        """The arrays of a compiled schedule, to read alone; they keep it."""
        return cls(*(getattr(compiled, name) for name in cls._fields))
