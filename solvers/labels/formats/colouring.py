"""Read graphs in the DIMACS format `.col`, for colouring with the fewest colours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...formats.parsing.text import TextFile, shown
from ..conversions import Factor, LabelConversion, from_factors

EDGE_BYTES = 6
"""Least number of bytes of a line, "e 1 2" and its end."""

DESCRIPTORS = (b"d", b"v", b"x")
"""First words of lines that say how a graph was generated."""

NUMBER_BYTES = 8
"""Bytes of an entry of a table."""


def read_colouring(text: TextFile) -> LabelConversion:
    """Read a graph; the problem colours adjacent vertices differently with the fewest colours.

    The variables are the vertices, numbered from 1, whose values are colours, and "colour c", which
    is 1 where a vertex may have colour c. Used colours come first, and the vertices of a clique
    have the first colours. This excludes colourings that only exchange colours.

    Raises:
        ProblemFileError: the file has another form, or a loop.
    """
    graph = _read(text)
    clique = graph.clique()
    colours = graph.greedy_colours()
    text.check_bytes(
        NUMBER_BYTES * (len(graph.edges) * colours**2 + 2 * graph.n * colours**2),
        f"a colouring of {graph.n} vertices with up to {colours} colours",
    )
    sizes = [colours] * graph.n + [2] * colours
    names = [*range(1, graph.n + 1), *(f"colour {colour}" for colour in range(colours))]
    return from_factors(sizes, _factors(graph, clique, colours), sense="minimise", names=names)


@dataclass
class _Graph:
    """Graph of vertices 0 to n - 1 and edges (i, j) with i < j."""

    n: int
    edges: set[tuple[int, int]] = field(default_factory=set)

    def neighbours(self) -> list[set[int]]:
        """Return the neighbours of each vertex."""
        neighbours: list[set[int]] = [set() for _ in range(self.n)]
        for i, j in self.edges:
            neighbours[i].add(j)
            neighbours[j].add(i)
        return neighbours

    def _by_degree(self, neighbours: list[set[int]]) -> list[int]:
        return sorted(range(self.n), key=lambda vertex: -len(neighbours[vertex]))

    def greedy_colours(self) -> int:
        """Return a sufficient number of colours, by greedy colouring in the order of degrees."""
        neighbours = self.neighbours()
        colour: dict[int, int] = {}
        for vertex in self._by_degree(neighbours):
            taken = {colour[other] for other in neighbours[vertex] if other in colour}
            colour[vertex] = next(c for c in range(self.n) if c not in taken)
        return max(colour.values()) + 1

    def clique(self) -> list[int]:
        """Return vertices that are all adjacent."""
        neighbours = self.neighbours()
        members: list[int] = []
        for vertex in self._by_degree(neighbours):
            if neighbours[vertex].issuperset(members):
                members.append(vertex)
        return members


def _edge(text: TextFile, row: list[bytes], n: int) -> tuple[int, int]:
    """Return the two vertices of a line of the file, the lower one first."""
    if row[0] != b"e" or len(row) != 3:
        raise text.error(
            f"expected 'e u v'; the line has {len(row)} words and starts with {shown(row[0])}"
        )
    u, v = (text.integer(word, "a vertex", 1, n) - 1 for word in row[1:])
    if u == v:
        raise text.error(f"the vertex {u + 1} is adjacent to itself, so it has no colour")
    return min(u, v), max(u, v)


def _read(text: TextFile) -> _Graph:
    rows = text.rows()
    header = next(rows, [])
    if len(header) != 4 or header[0] != b"p" or header[1] not in (b"edge", b"edges", b"col"):
        raise text.error("expected the header 'p edge vertices edges'")
    n = text.integer(header[2], "the number of vertices", 1, 2**62)
    count = text.integer(header[3], "the number of edges", 0, 2**62)
    text.check_claim(n, 0, EDGE_BYTES)
    graph = _Graph(n)
    lines = 0
    for row in rows:
        if row[0] in DESCRIPTORS:
            continue
        graph.edges.add(_edge(text, row, n))
        lines += 1
    # Some files list every edge once and count it twice.
    if count not in (lines, 2 * lines):
        raise text.error(f"the header claims {count} edges, and the file has {lines}")
    return graph


def _factors(graph: _Graph, clique: list[int], colours: int) -> Iterator[Factor]:
    """Yield the cost of each colour, and the factors that forbid invalid assignments."""
    different = np.where(np.eye(colours, dtype=bool), math.inf, 0.0)
    for edge in graph.edges:
        yield edge, different
    for colour in range(colours):
        use = graph.n + colour
        yield (use,), np.array([0.0, 1.0])
        unused = np.zeros((colours, 2))
        unused[colour, 0] = math.inf
        for vertex in range(graph.n):
            yield (vertex, use), unused
        if colour:
            yield (use - 1, use), np.array([[0.0, math.inf], [0.0, 0.0]])
    for colour, vertex in enumerate(clique):
        yield (vertex,), np.where(np.arange(colours) == colour, 0.0, math.inf)
