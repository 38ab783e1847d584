"""Ten well-known problems that the library was not tuned on."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np

from benchmarks.families import from_matrix, max_cut, signs
from benchmarks.outside_families import Family, Generator, Instance, labels
from solvers.constraints import one_of
from solvers.labels import LabelProblem

CASES: dict[str, Family] = {}
"""By name; of those that need a package or a file that is not here, nothing."""

TREE = {
    (0, 1): 90, (0, 2): 10, (0, 3): 23, (0, 4): 43, (1, 5): 88, (2, 6): 26,
    (2, 7): 16, (5, 8): 1, (7, 9): 96, (8, 10): 29, (9, 11): 37,
}  # fmt: skip
"""The flows of chr12a in QAPLIB."""

DISTANCES = (
    "36 54 26 59 72 9 34 79 17 46 95 73 35 90 58 30 78 35 44 79 36 21 10 97 58 66 69 61 54 63 "
    "93 12 46 40 37 48 68 85 64 5 29 76 16 5 76 96 55 38 54 0 34 83 35 11 56 37 44 12 15 80 "
    "64 39 33 70 86 18"
)
"""Of chr12a in QAPLIB, the upper triangle by rows."""

SUDOKU = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
"""By Inkala, 2012."""


def case(
    name: str, source: str, size: int, needs: bool = True
) -> Callable[[Callable[[int, Generator], Instance]], None]:
    """Put an instance into `CASES`, if what it needs is here."""

    def put(draw: Callable[[int, Generator], Instance]) -> None:
        if needs:
            CASES[name] = Family(source, (size,), draw)

    return put


@case("karate club in 4 communities", "Zachary 1977, modularity", 34)
def _(n: int, generator: Generator) -> Instance:
    adjacency = nx.to_numpy_array(nx.karate_club_graph(), weight=None)
    degrees = adjacency.sum(axis=1)
    gain = adjacency - np.outer(degrees, degrees) / degrees.sum()
    pairs = np.array(list(combinations(range(n), 2)))
    return labels(np.zeros((n, 4)), gain[tuple(pairs.T)], pairs)


@case("myciel4 in 4 colours", "DIMACS colouring, Mycielski 1955", 23)
def _(n: int, generator: Generator) -> Instance:
    edges = np.array(nx.mycielski_graph(5).edges)
    return labels(np.zeros((n, 4)), np.full(len(edges), -1.0), edges)


@case("dense quadratic bits", "Palubeckis 2004, four fifths of the pairs, within 100", 1500)
def _(n: int, generator: Generator) -> Instance:
    scores = np.triu(2 * generator.integers(-100, 101, (n, n)), 1).astype(float)
    scores *= generator.random((n, n)) < 0.8
    return Instance(from_matrix(scores + np.diag(generator.integers(-100, 101, n))))


@case("Pegasus, +-1", "dwave_networkx, P6", 6, find_spec("dwave_networkx") is not None)
def _(size: int, generator: Generator) -> Instance:
    import dwave_networkx

    return Instance(signs(dwave_networkx.pegasus_graph(size), generator))


@case("Zephyr, +-1", "dwave_networkx, Z2", 2, find_spec("dwave_networkx") is not None)
def _(size: int, generator: Generator) -> Instance:
    import dwave_networkx

    return Instance(signs(dwave_networkx.zephyr_graph(size), generator))


def _distances() -> np.ndarray:
    distances = np.zeros((12, 12))
    distances[np.triu_indices(12, 1)] = [float(word) for word in DISTANCES.split()]
    return distances + distances.T


def _chr12a(same: float) -> tuple[np.ndarray, np.ndarray]:
    """The scores of pairs of (facility, place), `same` for two that exclude each other."""
    flows = np.zeros((12, 12))
    for ends, flow in TREE.items():
        flows[ends] = flow
    scores = -2.0 * np.einsum("ij,ab->iajb", flows, _distances())
    upper = np.triu(np.ones((12, 12)), 1)
    scores += same * np.einsum("ij,ab->iajb", upper, np.eye(12))
    return scores, upper


@case("chr12a by penalties", "QAPLIB, Christofides and Benavent 1989", 12)
def _(n: int, generator: Generator) -> Instance:
    penalty = 38152.0
    scores, upper = _chr12a(-2 * penalty)
    scores += -2 * penalty * np.einsum("ij,ab->iajb", np.eye(12), upper)
    matrix = scores.reshape(144, 144)
    return Instance(from_matrix(matrix + 2 * penalty * np.eye(144)))


@case("chr12a with constraints", "QAPLIB, Christofides and Benavent 1989", 12)
def _(n: int, generator: Generator) -> Instance:
    scores, _upper = _chr12a(0.0)
    place = np.arange(144).reshape(12, 12)
    groups = [one_of(group.tolist()) for group in (*place, *place.T)]
    return Instance(from_matrix(scores.reshape(144, 144)), groups)


@case("chr12a as labels", "QAPLIB, Christofides and Benavent 1989", 12)
def _(n: int, generator: Generator) -> Instance:
    scores, _upper = _chr12a(0.0)
    pairs = np.array(list(combinations(range(12), 2)))
    tables = scores.transpose(0, 2, 1, 3)[tuple(pairs.T)]
    tables[:, np.arange(12), np.arange(12)] = -np.inf
    return labels(np.zeros((12, 12)), tables, pairs)


@case("sudoku", "Inkala 2012", 9)
def _(n: int, generator: Generator) -> Instance:
    unary = np.zeros((81, 9))
    for cell, digit in enumerate(SUDOKU):
        if digit != ".":
            unary[cell] = -np.inf
            unary[cell, int(digit) - 1] = 0.0
    graph = nx.sudoku_graph(3)
    different = np.where(np.eye(9, dtype=bool), -np.inf, 0.0)
    problem = LabelProblem.from_arrays(unary, pairwise=different, edges=np.array(graph.edges))
    return Instance(problem)


def _g44() -> Path | None:
    root = os.environ.get("STRUCTURED_VAE_DATA")
    path = Path(root or "") / "problems" / "maxcut" / "gset" / "G44.txt.gz"
    return path if root and path.exists() else None


@case("maximum cut G44", "G-set, rudy, 1,000 nodes", 1000, _g44() is not None)
def _(n: int, generator: Generator) -> Instance:
    path = _g44()
    assert path is not None
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = np.loadtxt(file, skiprows=1)
    graph = nx.empty_graph(n)
    graph.add_edges_from(rows[:, :2].astype(int) - 1)
    return Instance(max_cut(graph, np.ones(len(rows))))
