"""Name the columns of an elimination's schedule; schedule.hpp describes the arrays."""

from __future__ import annotations

MAX_BITS = 57  # of a separator

# Columns of `steps`; a start is an index of the first item, an end that of the last plus 1.
VARIABLE, BIT_START, BIT_END, READ_START, READ_END, TABLE_OUT, WORD_START, LANE_OUT, ENTRY_START = (
    range(9)
)
# Columns of `reads`.
TABLE_IN, LANE_IN, ENTRY_IN, OWN_STRIDE, STRIDE_START, OFFSET_START = range(6)
