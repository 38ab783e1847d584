"""The schedule of an elimination: what each step reads, sums, maximises and hands on.

Step t eliminates one variable v. Its separator are the variables that it then shares a term or a message
with; its table holds, for each state of the separator, the best score of v and all that was eliminated below
it. The table goes as a message to the step that eliminates the first variable of the separator, its parent.
The steps form a forest and are sorted so that children come right before their parent.

Bit i of an entry's index is the state of the i-th variable of the separator. A message's bits are in the
order that its reader has, with the reader's own variable on top; so a range of the reader's lowest bits takes
a range of the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .arrays import Edges
from .elimination_order import elimination_order
from .vector_registers import LANE_BITS

MAX_OFFSETS = 1 << 17  # of all messages, that are worth storing


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


@dataclass(frozen=True)
class Plan:
    """How to eliminate the variables of all problems that share these edges.

    Attributes:
        n: number of variables.
        edges: number of edges.
        width: variables of the largest separator.
        entries: entries of all tables.
        words: decision words, one for up to LANES entries of a table.
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
    words: int
    table_arena: int
    lane_arena: int
    most_reads: int
    has_offsets: bool
    schedule: Schedule


def elimination_plan(n: int, edges: Edges, order: np.ndarray | None = None) -> Plan:
    """A plan by the best order that `elimination_order` finds, or by another.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        order: `[n]`, in which to eliminate.
    """
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    variables, separators, parents = _forest(
        n, edges, elimination_order(n, edges) if order is None else order
    )
    children: list[list[int]] = [[] for _ in range(n)]
    for t, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(t)
    layouts = _layouts(variables, separators, parents)
    strides, own_strides = _strides(variables, layouts, parents)
    sizes = np.array([1 << len(layout) for layout in layouts], np.int64)
    lane_outs, lane_arena = _allocate(sizes, children)
    table_outs, table_arena = _allocate(np.maximum(sizes, 1 << LANE_BITS), children)
    pair = {(int(i), int(j)): e for e, (i, j) in enumerate(edges)}
    pair |= {(j, i): e for (i, j), e in pair.items()}
    bit_edges = [[pair.get((v, u), -1) for u in layout] for v, layout in zip(variables, layouts, strict=True)]
    bit_starts, read_starts = _starts(layouts), _starts(children)
    entry_starts, word_starts = _starts_of(sizes), _starts_of(np.maximum(sizes >> LANE_BITS, 1))
    read = np.array([c for group in children for c in group], np.int64)
    strides = [strides[c] for c in read]
    offsets = _offsets(strides)
    columns: dict[int, Sequence[int] | np.ndarray] = {
        VARIABLE: variables,
        BIT_START: bit_starts[:-1],
        BIT_END: bit_starts[1:],
        READ_START: read_starts[:-1],
        READ_END: read_starts[1:],
        TABLE_OUT: table_outs,
        WORD_START: word_starts[:-1],
        LANE_OUT: lane_outs,
        ENTRY_START: entry_starts[:-1],
    }
    read_columns = {
        TABLE_IN: table_outs[read],
        LANE_IN: lane_outs[read],
        ENTRY_IN: entry_starts[read],
        OWN_STRIDE: np.array(own_strides, np.int64)[read],
        STRIDE_START: _starts(strides)[:-1],
        OFFSET_START: _starts(offsets)[:-1],
    }
    schedule = Schedule(
        steps=_table(columns),
        variables=_flat(layouts),
        edges=_flat(bit_edges),
        reads=_table(read_columns),
        strides=_flat(strides),
        offsets=_flat(offsets),
    )
    return Plan(
        n=n,
        edges=len(edges),
        width=max(len(layout) for layout in layouts),
        entries=int(entry_starts[-1]),
        words=int(word_starts[-1]),
        table_arena=table_arena,
        lane_arena=lane_arena,
        most_reads=max(len(group) for group in children),
        has_offsets=sum(len(row) for row in offsets) > 0 or len(read) == 0,
        schedule=schedule,
    )


def cached_plan(n: int, edges: Edges) -> Plan:
    """`elimination_plan(n, edges)`, remembered for the latest topologies."""
    return _plan_of_bytes(n, np.ascontiguousarray(edges, np.int64).tobytes())


@lru_cache(maxsize=16)
def _plan_of_bytes(n: int, edges: bytes) -> Plan:
    return elimination_plan(n, np.frombuffer(edges, np.int64).reshape(-1, 2))


def _table(columns: Mapping[int, Sequence[int] | np.ndarray]) -> np.ndarray:
    return np.stack([np.asarray(columns[c], np.int64) for c in sorted(columns)], axis=1)


def _flat(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    return np.array([value for row in rows for value in row], np.int64)


def _starts(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    return _starts_of([len(row) for row in rows])


def _starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _forest(n: int, edges: np.ndarray, order: np.ndarray) -> tuple[list[int], list[set[int]], list[int]]:
    """Variable, separator and parent of every step, children right before their parent."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    place = np.argsort(order).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    roots = []
    for v in order.tolist():
        separator = neighbours[v]
        for u in separator:
            neighbours[u] |= separator
            neighbours[u] -= {u, v}
        if separator:
            children[min(separator, key=place.__getitem__)].append(v)
        else:
            roots.append(v)
    # Parents first, then backwards; a stack, as trees are deeper than Python's recursion.
    sequence, stack = [], roots
    while stack:
        v = stack.pop()
        sequence.append(v)
        stack += sorted(children[v], key=lambda child: -len(neighbours[child]))
    sequence.reverse()
    step = {v: t for t, v in enumerate(sequence)}
    separators = [neighbours[v] for v in sequence]
    parents = [min((step[u] for u in separator), default=-1) for separator in separators]
    return sequence, separators, parents


def _layouts(variables: list[int], separators: list[set[int]], parents: list[int]) -> list[list[int]]:
    """The separators as lists, lowest bit first: as in the parent, with the parent's variable on top."""
    layouts: list[list[int]] = [[] for _ in variables]
    for t in reversed(range(len(variables))):
        parent = parents[t]
        if parent >= 0:
            layouts[t] = [*(u for u in layouts[parent] if u in separators[t]), variables[parent]]
    return layouts


def _strides(
    variables: list[int], layouts: list[list[int]], parents: list[int]
) -> tuple[list[list[int]], list[int]]:
    strides: list[list[int]] = []
    own_strides = []
    for layout, parent in zip(layouts, parents, strict=True):
        stride = {u: 1 << i for i, u in enumerate(layout)}
        strides.append([stride.get(u, 0) for u in layouts[parent]] if parent >= 0 else [])
        own_strides.append(stride[variables[parent]] if parent >= 0 else 0)
    return strides, own_strides


def _offsets(strides: list[list[int]]) -> list[np.ndarray]:
    if sum(1 << len(row) for row in strides) > MAX_OFFSETS:
        return [np.empty(0, np.int64)] * len(strides)
    offsets = []
    for row in strides:
        table = np.zeros(1, np.int64)
        for stride in row:
            table = np.concatenate((table, table + stride))
        offsets.append(table)
    return offsets


def _allocate(sizes: np.ndarray, children: list[list[int]]) -> tuple[np.ndarray, int]:
    """Places of the messages, each free again when its parent has read it, and the space needed."""
    starts = np.zeros(len(sizes), np.int64)
    free: dict[int, list[int]] = {}
    space = 0
    for t, size in enumerate(sizes.tolist()):
        if free.get(size):
            starts[t] = free[size].pop()
        else:
            starts[t] = space
            space += size
        for c in children[t]:
            free.setdefault(int(sizes[c]), []).append(int(starts[c]))
    return starts, space
