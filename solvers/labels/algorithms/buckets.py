"""Plan the elimination of variables of several values: the order, the tables, the messages.

Step t eliminates a variable. Its separator contains the variables that share a table with it at
that step; they are eliminated later. Its scores are a table over the variable and its separator:
the sum of its unary scores, of the pairs between it and its separator, and of the messages from
steps whose separators begin with it. `max_sum` and `sum_product` each turn that sum into a message
over the separator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...algorithms.elimination.order import elimination_order
from ...algorithms.elimination.treewidth import PROBED, treewidth_bound, why_no_room
from ...arrays import Array, Edges, as_float64, home_of, namespace_of
from ...kept import kept
from ...limits.memory import free_memory
from ..problem import LabelProblem

WIDEST = 30
"""Maximum number of variables in a separator.

Arrays have at most 64 axes, and a table of 2^31 entries is too large.
"""

PART_BYTES = 1 << 22
"""Maximum size of the largest table of the instances that run together on the host.

The tables then stay in the cache from step to step.
"""

DEVICE_PART_BYTES = 1 << 26
"""Maximum size of that table on a device, which is fastest with much work at once."""


@dataclass(frozen=True)
class Step:
    """Elimination of one variable.

    Attributes:
        variable: the eliminated variable.
        separator: the variables of its message, in the order of their elimination.
        edges: (edge, place in the separator, whether the variable is the edge's second) of each
            pair in the step's table.
        children: the steps whose messages it reads.
    """

    variable: int
    separator: tuple[int, ...]
    edges: tuple[tuple[int, int, bool], ...]
    children: tuple[int, ...]

    @property
    def scope(self) -> tuple[int, ...]:
        """The variables of its table."""
        return (self.variable, *self.separator)


@dataclass(frozen=True)
class Buckets:
    """Steps of an elimination, each directly after the last of its children.

    Attributes:
        steps: `[n]`.
        entries: the entries of all tables together, for one instance.
        largest: the entries of the largest table.
        width: the number of variables of the largest separator.
    """

    steps: tuple[Step, ...]
    entries: int
    largest: int
    width: int

    @kept
    def readers(self) -> tuple[int, ...]:
        """The step that reads each step's message, `[n]`; -1 for none."""
        readers = [-1] * len(self.steps)
        for t, step in enumerate(self.steps):
            for child in step.children:
                readers[child] = t
        return tuple(readers)


def buckets_of(problem: LabelProblem) -> Buckets:
    """Return the elimination of a problem's variables, remembered for recent topologies."""
    return _remembered(problem.n, problem.topology.pairs.tobytes(), problem.sizes.tobytes())


@lru_cache(maxsize=32)
def _remembered(n: int, pairs: bytes, sizes: bytes) -> Buckets:
    edges = np.frombuffer(pairs, np.int64).reshape(-1, 2)
    return plan(n, edges, np.frombuffer(sizes, np.int64))


def plan(n: int, edges: Edges, sizes: np.ndarray) -> Buckets:
    """Plan the elimination by the best order of the graph heuristics, which ignore the sizes."""
    order = _leaves_first(n, edges)
    if order is None:
        order = _depth_first(np.asarray(elimination_order(n, edges), np.int64).tolist(), edges)
    place = {v: t for t, v in enumerate(order)}
    later: list[set[int]] = [set() for _ in range(n)]
    edges_of: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for edge, (i, j) in enumerate(edges.tolist()):
        # A pair belongs to the step of the end that is eliminated first.
        first, second = sorted((i, j), key=place.__getitem__)
        later[place[first]].add(place[second])
        edges_of[place[first]].append((edge, second))
    children: list[list[int]] = [[] for _ in range(n)]
    steps: list[Step] = []
    entries = largest = width = 0
    for t, v in enumerate(order):
        ahead = sorted(later[t])
        separator = tuple(order[s] for s in ahead)
        # The message of a step goes to the first variable of its separator, whose table then spans
        # the others.
        if ahead:
            later[ahead[0]].update(ahead[1:])
            children[ahead[0]].append(t)
        reads = tuple((edge, separator.index(u) + 1, v > u) for edge, u in edges_of[t])
        steps.append(Step(v, separator, reads, tuple(children[t])))
        size = math.prod(int(sizes[u]) for u in steps[-1].scope)
        entries = entries + size
        largest = max(largest, size)
        width = max(width, len(ahead))
    return Buckets(tuple(steps), entries, largest, width)


def _depth_first(order: list[int], edges: Edges) -> list[int]:
    """Return an order with the same tables, in which few messages wait for their reader.

    Each step comes after the steps of its subtree, which come one after the other.
    """
    place = {v: t for t, v in enumerate(order)}
    later: list[set[int]] = [set() for _ in order]
    for i, j in edges.tolist():
        first, second = sorted((place[i], place[j]))
        later[first].add(second)
    # A step is the child of the step that reads its message.
    children: list[list[int]] = [[] for _ in order]
    roots = []
    for t, ahead in enumerate(later):
        if not ahead:
            roots.append(t)
            continue
        reader = min(ahead)
        children[reader].append(t)
        later[reader] |= ahead - {reader}
    # Depth first from the roots, then reversed: children directly precede their reader.
    backwards = []
    stack = roots
    while stack:
        t = stack.pop()
        backwards.append(order[t])
        stack += children[t]
    return backwards[::-1]


def _leaves_first(n: int, edges: Edges) -> list[int] | None:
    """Return an elimination order for a forest, or None if the graph is not a forest.

    Leaves come first. The root of a tree is its last variable, so a chain is eliminated forwards.
    """
    near: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges.tolist():
        near[i].append(j)
        near[j].append(i)
    seen = [False] * n
    order = list[int]()
    trees = 0
    # A root comes first here and last in the order, as the last variable of its tree.
    for root in reversed(range(n)):
        if seen[root]:
            continue
        seen[root] = True
        start = len(order)
        trees = trees + 1
        order.append(root)
        for v in itertools.islice(order, start, None):  # the loop also visits appended items
            ahead = [u for u in near[v] if not seen[u]]
            for u in ahead:
                seen[u] = True
            order += ahead
    # A graph with n - trees edges has no cycle.
    if len(edges) == n - trees:
        return order[::-1]
    return None


def why_not_eliminated(problem: LabelProblem, bytes_of: Callable[[Buckets], int]) -> str | None:
    """Return why elimination cannot take the problem, or None if it can.

    The reason is the width of the elimination orders, or the memory.

    Args:
        problem: the problem, of which only the edges and sizes matter.
        bytes_of: returns the memory that an instance takes.
    """
    if reason := why_too_wide(problem):
        return reason
    buckets = buckets_of(problem)
    return why_no_room(buckets.width, bytes_of(buckets), free_memory())


def why_too_wide(problem: LabelProblem) -> str | None:
    """Return that no elimination order is narrow enough, or None if one is."""
    width = treewidth_bound(problem.topology, PROBED)
    if width is not None and buckets_of(problem).width <= WIDEST:
        return None
    return f"no elimination order of width {WIDEST} or less was found"


def in_parts(problem: LabelProblem, buckets: Buckets) -> Iterator[LabelProblem]:
    """Yield the batch in parts whose tables are small together."""
    most = DEVICE_PART_BYTES
    if home_of(problem.unary).on_host:
        most = PART_BYTES
    count = max(1, most // (8 * max(1, buckets.largest)))
    if count >= problem.batch:
        yield problem
        return
    for start in range(0, problem.batch, count):
        yield problem.instances(slice(start, min(start + count, problem.batch)))


def joined(
    problem: LabelProblem, buckets: Buckets, step: Step, messages: dict[int, Array]
) -> Array:
    """Return the sum of all terms of a step, `[batch, sizes of the step's scope]`, float64.

    The step's incoming messages are removed from `messages`.

    Args:
        problem: the problem that is eliminated.
        buckets: the whole elimination.
        step: a step of `buckets`.
        messages: {step: its message over its separator}.
    """
    first, *others = terms(problem, buckets, step, messages)
    return sum(others, start=first)


def terms(
    problem: LabelProblem, buckets: Buckets, step: Step, messages: dict[int, Array]
) -> Iterator[Array]:
    """Yield the terms of `joined`, with the axes of the sum; an axis may have length 1."""
    xp = namespace_of(problem.unary)
    dimensions = len(step.scope)
    size = int(problem.sizes[step.variable])
    unary = as_float64(problem.unary[:, step.variable, :size])
    yield xp.reshape(unary, (problem.batch, size, *([1] * (dimensions - 1))))
    for edge, place, second in step.edges:
        table = problem.pairwise(edge)
        # The step's own variable has to be the first axis of every term.
        if second:
            if hasattr(xp, "matrix_transpose"):
                table = xp.matrix_transpose(table)
            else:
                table = table.swapaxes(-1, -2)
        shape = [table.shape[0], table.shape[1], *([1] * (dimensions - 1))]
        shape[place + 1] = table.shape[2]
        yield xp.reshape(table, tuple(shape))
    axis = {u: place for place, u in enumerate(step.scope)}
    for child in step.children:
        # A message is read once, so removing it frees its memory.
        message = messages.pop(child)
        shape = [message.shape[0], *([1] * dimensions)]
        for u, length in zip(buckets.steps[child].separator, message.shape[1:], strict=True):
            shape[axis[u] + 1] = length
        yield xp.reshape(message, tuple(shape))
