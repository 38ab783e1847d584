"""Random large parts of a graph that have a small width: what is left once some vertices are taken out."""

from __future__ import annotations

import numpy as np

from ...arrays import Edges
from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...compiled.random import below, random_bits, random_states

SPARE = 4
"""Neighbours that a vertex may get by eliminations before its list moves."""


def subgraph_order(n: int, edges: Edges, width: int, generator: np.random.Generator) -> np.ndarray:
    """An order `[m]` in which m <= n of the vertices can be eliminated with separators of at most `width`.

    Vertices of least degree go first, ties at random; when all degrees exceed `width`, one of greatest degree
    is taken out of the graph.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.
        width: at least 0.
        generator: of the ties.
    """
    order, random = np.empty(n, np.int64), random_states(1, generator)
    kept = _eliminate_or_take_out(n, np.ascontiguousarray(edges, np.int64), width, random, order)
    return order[:kept]


@jit.strict
def _eliminate_or_take_out(n, edges, width, random, order):
    """Writes the order and returns its length; `random` is the state of the random numbers."""
    rows, starts, room, degree = _lists(n, edges)
    by_degree, place, first = _buckets(degree)
    end = len(rows)
    least, most, kept = 0, n - 1, 0
    for _ in range(n):
        while first[least + 1] == first[least]:
            least += 1
        while first[most + 1] == first[most]:
            most -= 1
        kind = least if least <= width else most
        tied = first[kind + 1] - first[kind]
        v = by_degree[first[kind] + below(tied, random_bits(random))]
        near = rows[starts[v] : starts[v] + degree[v]].copy()
        for u in near:
            rows[_position(rows, starts[u], degree[u], v)] = rows[starts[u] + degree[u] - 1]
            _sink(by_degree, place, first, degree, u)
        while degree[v] >= 0:  # below all buckets that count
            _sink(by_degree, place, first, degree, v)
        if kind <= width:
            order[kept] = v
            kept += 1
            for u in near:
                for w in near:
                    if u != w and _position(rows, starts[u], degree[u], w) < 0:
                        rows, end = _with_room(rows, end, starts, room, degree, u)
                        rows[starts[u] + degree[u]] = w
                        _rise(by_degree, place, first, degree, u)
                        most = max(most, degree[u])
        least = 0
    return kept


@jit.strict
def _lists(n, edges):
    """Neighbours with room for more: all of them, start and room of every list, and its length."""
    listed, near, _ = neighbour_lists(n, edges)
    degree = listed[1:] - listed[:-1]
    room = degree + SPARE
    starts = listed[:-1] + SPARE * np.arange(n)
    rows = np.empty(len(near) + SPARE * n, np.int64)
    for v in range(n):
        rows[starts[v] : starts[v] + degree[v]] = near[listed[v] : listed[v + 1]]
    return rows, starts, room, degree


@jit.strict
def _with_room(rows, end, starts, room, degree, v):
    """The lists and their end, after that of v has moved to the end if it was full."""
    if degree[v] == room[v]:
        if end + 2 * room[v] > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + 2 * room[v], np.int64)))
        rows[end : end + degree[v]] = rows[starts[v] : starts[v] + degree[v]]
        starts[v], room[v] = end, 2 * room[v]
        end += room[v]
    return rows, end


@jit.strict
def _position(rows, start, count, vertex):
    """Where the vertex stands in a list, or -1."""
    for k in range(start, start + count):
        if rows[k] == vertex:
            return k
    return -1


@jit.strict
def _buckets(degree):
    """The vertices by degree, where each of them stands, and the first of every degree 0 .. n or more."""
    n = len(degree)
    first = np.zeros(n + 2, np.int64)
    for v in range(n):
        first[degree[v] + 1] += 1
    first = np.cumsum(first)
    end = first.copy()
    by_degree, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        place[v] = end[degree[v]]
        by_degree[place[v]] = v
        end[degree[v]] += 1
    return by_degree, place, first


@jit.strict
def _sink(by_degree, place, first, degree, v):
    """One neighbour less: v changes places with the first of its bucket, which then starts behind it."""
    _move(by_degree, place, v, first[degree[v]])
    first[degree[v]] += 1
    degree[v] -= 1


@jit.strict
def _rise(by_degree, place, first, degree, v):
    """One neighbour more: v changes places with the last of its bucket, and the next starts with it."""
    degree[v] += 1
    first[degree[v]] -= 1
    _move(by_degree, place, v, first[degree[v]])


@jit.strict
def _move(by_degree, place, v, to):
    other, at = by_degree[to], place[v]
    by_degree[at], by_degree[to] = other, v
    place[other], place[v] = at, to
