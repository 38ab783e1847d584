"""Moves of many variables at once: a block is set to its best states, given all others.

In a sparse graph the variables near one another form a subgraph of small treewidth, which mini-buckets solve
exactly in milliseconds. One flip at a time rarely leaves a state that is best in all such blocks.

References:
    Hamze, de Freitas (2004), From fields to trees.
    Selby (2014), Efficient subgraph-based sampling of Ising-type models with frustration.
"""

from __future__ import annotations

import time

import numpy as np

from .arrays import Edges
from .elimination_order import min_fill_order
from .fixed_point import FixedPoint
from .mini_bucket_plan import mini_bucket_layout
from .mini_bucket_search import Search
from .problem import Problem
from .reduction import reduced

BLOCK = 200
"""Variables of a block: on a grid about 14 x 14, whose treewidth is still at hand."""

WIDTH, NODES, NODES_A_CALL = 12, 200_000, 50_000
"""Of the tables, and of the search of a block: mostly it is completed."""

ROUNDS = 3
"""Each variable is in about so many blocks without gain before a part is set at random."""

KICKED = 0.25
"""Share of the variables in that part."""


def block_moves(problem: Problem, z: np.ndarray, generator: np.random.Generator, end: float) -> np.ndarray:
    """The best assignment `[n]` found until `time.monotonic()` is `end`, at least as good as `z`.

    Args:
        problem: a single instance on the host.
        z: `[n]` of zeros and ones.
        generator: of blocks and kicks.
        end: a block that has begun is completed.
    """
    neighbours = _neighbours(problem.n, problem.edges)
    size = min(BLOCK, problem.n)
    patience = ROUNDS * -(-problem.n // size)
    best, best_score, stalled = z.astype(np.int8), float(problem.score_flat(z[None])[0]), 0
    current = best
    while time.monotonic() < end:
        current = _best_in(problem, current, _ball(neighbours, size, generator))
        score = float(problem.score_flat(current[None])[0])
        if score > best_score + float(problem.rounding[0]):
            best, best_score, stalled = current, score, 0
            continue
        stalled += 1
        if stalled == patience:
            part = _ball(neighbours, int(KICKED * problem.n), generator)
            current, stalled = best.copy(), 0
            current[part] = generator.integers(0, 2, len(part))
    return best


def _best_in(problem: Problem, z: np.ndarray, block: np.ndarray) -> np.ndarray:
    """`z` with the variables of the block as good as a short search makes them, given the others."""
    fixed = z.astype(np.int64)
    fixed[block] = -1
    rest = reduced(problem.unary[0], problem.pairwise[0], problem.edges, fixed)
    part = Problem.from_arrays(rest.unary[None], rest.pairwise[None], edges=rest.edges)
    layout = mini_bucket_layout(part.n, part.edges, min_fill_order(part.n, part.edges), WIDTH)
    search = Search(layout, FixedPoint.of(part), z[fixed < 0])
    search.run(NODES, np.inf, NODES_A_CALL)
    return rest.lift(search.z)


def _neighbours(n: int, edges: Edges) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges.tolist():
        found[i].append(j)
        found[j].append(i)
    return found


def _ball(neighbours: list[list[int]], size: int, generator: np.random.Generator) -> np.ndarray:
    """Up to `size` variables, breadth first from a random one."""
    start = int(generator.integers(len(neighbours)))
    seen, ball = {start}, [start]
    for v in ball:
        if len(ball) >= size:
            break
        for u in neighbours[v]:
            if u not in seen:
                seen.add(u)
                ball.append(u)
    return np.array(ball[:size])
