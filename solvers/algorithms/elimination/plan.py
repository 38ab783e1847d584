"""Plan an elimination: what each step reads, sums, maximises and passes on.

Step t eliminates one variable v. Its separator are the variables with which v then shares a term or
a message. For each state of the separator, its table holds the best score of v and everything that
was eliminated below it. The table goes as a message to the parent of the step, which eliminates the
first variable of the separator. The steps form a forest and are sorted so that children come right
before their parent.

Bit i of an entry's index is the state of the i-th variable of the separator. The bits of a message
are in the order of its reader, with the reader's own variable on top. So a range of the reader's
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
    """The plan of an elimination, for all problems that share these edges.

    Attributes:
        n: number of variables.
        edges: number of edges.
        width: number of variables of the largest separator.
        entries: entries of all tables.
        table_arena: entries in use at the same time, in tables of at least LANES entries.
        lane_arena: entries in use at the same time.
        most_reads: maximum number of messages that a step reads.
        has_offsets: whether `schedule` has the offsets that max_sum_lanes needs.
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
        """Memory of one instance: the messages in use at the same time, and a bit per entry."""
        return 8 * self.table_arena + self.entries // 8


def elimination_plan(n: int, edges: Edges, order: np.ndarray | None = None) -> Plan:
    """Plan the elimination by the best order of `elimination_order`, or by another.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        order: `[n]`, the order of elimination.
    """
    edges = np.ascontiguousarray(edges, np.int64).reshape(-1, 2)
    if order is None:
        order = elimination_order(n, edges)
    else:
        order = np.ascontiguousarray(order, np.int64)
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
    """Return `elimination_plan(n, edges)`, cached for recent topologies."""
    return _plan_of_bytes(n, np.ascontiguousarray(edges, np.int64).tobytes())


@lru_cache(maxsize=16)
def _plan_of_bytes(n: int, edges: bytes) -> Plan:
    return elimination_plan(n, np.frombuffer(edges, np.int64).reshape(-1, 2))
