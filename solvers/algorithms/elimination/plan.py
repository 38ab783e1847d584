"""The schedule of an elimination: what each step reads, sums, maximises and hands on.

Step t eliminates one variable v. Its separator are the variables that it then shares a term or a
message with; its table holds, for each state of the separator, the best score of v and all that was
eliminated below it. The table goes as a message to the step that eliminates the first variable of
the separator, its parent. The steps form a forest and are sorted so that children come right before
their parent.

Bit i of an entry's index is the state of the i-th variable of the separator. A message's bits are
in the order that its reader has, with the reader's own variable on top; so a range of the reader's
lowest bits takes a range of the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...arrays import Edges
from ...compiled._kernels import elimination as kernels
from .order import elimination_order


@dataclass(frozen=True)
class Plan:
    """How to eliminate the variables of all problems that share these edges.

    Attributes:
        n: number of variables.
        edges: number of edges.
        width: variables of the largest separator.
        entries: entries of all tables.
        table_arena: entries that live at the same time, in tables of at least LANES entries.
        lane_arena: entries that live at the same time.
        most_reads: messages that a step reads at most.
        has_offsets: whether `schedule.offsets` are there, which max_sum_lanes needs.
        schedule: the steps, for the kernels.
    """

    n: int
    edges: int
    width: int
    entries: int
    table_arena: int
    lane_arena: int
    most_reads: int
    has_offsets: bool
    schedule: kernels.Schedule

    @property
    def table_bytes(self) -> int:
        """Memory of an instance by itself: the messages that live at the same time, and a bit an entry."""
        return 8 * self.table_arena + self.entries // 8


def elimination_plan(n: int, edges: Edges, order: np.ndarray | None = None) -> Plan:
    """A plan by the best order that `elimination_order` finds, or by another.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        order: `[n]`, in which to eliminate.
    """
    edges = np.ascontiguousarray(edges, np.int64).reshape(-1, 2)
    order = elimination_order(n, edges) if order is None else np.ascontiguousarray(order, np.int64)
    schedule = kernels.Schedule(edges, order)
    return Plan(
        n=n,
        edges=len(edges),
        width=schedule.width,
        entries=schedule.entries,
        table_arena=schedule.table_arena,
        lane_arena=schedule.lane_arena,
        most_reads=schedule.most_reads,
        has_offsets=schedule.has_offsets,
        schedule=schedule,
    )


def cached_plan(n: int, edges: Edges) -> Plan:
    """`elimination_plan(n, edges)`, remembered for the latest topologies."""
    return _plan_of_bytes(n, np.ascontiguousarray(edges, np.int64).tobytes())


@lru_cache(maxsize=16)
def _plan_of_bytes(n: int, edges: bytes) -> Plan:
    return elimination_plan(n, np.frombuffer(edges, np.int64).reshape(-1, 2))
