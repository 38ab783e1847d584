"""Families of maximum cliques, independent sets, packings and covers, written with penalties."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, product
from typing import TypeVar

import networkx as nx
import numpy as np

from benchmarks.families import independent_set
from benchmarks.outside_families import Family, Generator, Instance
from solvers import Problem

Node = TypeVar("Node", bound=Hashable)

DENSITY = 0.65
"""Share of the pairs that are joined in brock200_4 of DIMACS."""

HIDDEN = 20
"""Nodes of a hidden clique: a few more than such a graph has without it."""


def _clique(nodes: Sequence[Node], joined: Callable[[Node, Node], bool]) -> Instance:
    """A maximum clique of a graph: nodes that are not joined exclude each other."""
    conflicts: nx.Graph = nx.empty_graph(nodes)
    conflicts.add_edges_from(pair for pair in combinations(nodes, 2) if not joined(*pair))
    return Instance(independent_set(conflicts, np.ones(len(nodes))))


def _hamming(length: int, generator: Generator) -> Instance:
    """Binary words of which any two differ in at least four places."""
    return _clique(range(2**length), lambda word, other: (word ^ other).bit_count() >= 4)


def _johnson(length: int, generator: Generator) -> Instance:
    """Words with two ones, of which any two differ in four places."""
    words = [frozenset(ones) for ones in combinations(range(length), 2)]
    return _clique(words, lambda word, other: len(word ^ other) >= 4)


def _keller(dimension: int, generator: Generator) -> Instance:
    """Words that differ in two places, in one of them by two; all such neighbours of one word."""

    def joined(word: tuple[int, ...], other: tuple[int, ...]) -> bool:
        steps = [(a - b) % 4 for a, b in zip(word, other, strict=True)]
        return 2 in steps and dimension - steps.count(0) >= 2

    words = list(product(range(4), repeat=dimension))
    return _clique([word for word in words if joined(words[0], word)], joined)


def _hidden_clique(n: int, generator: Generator) -> Instance:
    """A random graph with a clique whose nodes have no more neighbours than others on average."""
    member = np.zeros(n, dtype=bool)
    member[generator.choice(n, HIDDEN, replace=False)] = True
    others = n - HIDDEN
    mean_degree = DENSITY * (n - 1)
    across = (mean_degree - (HIDDEN - 1)) / others
    outside = (mean_degree - HIDDEN * across) / (others - 1)
    share = {0: outside, 1: across, 2: 1.0}
    draws = np.triu(generator.random((n, n)), 1)
    return _clique(
        range(n),
        lambda i, j: bool(draws[i, j] < share[int(member[i]) + int(member[j])]),
    )


def _weighted(n: int, generator: Generator) -> Instance:
    """An independent set of the largest weight, where node i weighs i mod 200 + 1."""
    graph = nx.gnp_random_graph(n, 0.3, seed=int(generator.integers(2**31)))
    return Instance(independent_set(graph, np.arange(n) % 200 + 1.0))


def _atoms(side: int, generator: Generator) -> Instance:
    """An independent set of the neighbours and diagonals of a square, of which a fifth is empty."""
    places = list(product(range(side), repeat=2))
    kept = generator.choice(len(places), round(0.8 * len(places)), replace=False)
    atoms = [places[place] for place in sorted(kept.tolist())]
    graph = nx.empty_graph(atoms)
    graph.add_edges_from(
        (a, b) for a, b in combinations(atoms, 2) if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1
    )
    return Instance(independent_set(graph, np.ones(len(atoms))))


def _packing(sets: int, generator: Generator) -> Instance:
    """Sets of four of n / 4 items, of which no two may share an item."""
    items = [frozenset(generator.choice(sets // 4, 4, replace=False)) for _ in range(sets)]
    graph = nx.empty_graph(sets)
    graph.add_edges_from((i, j) for i, j in combinations(range(sets), 2) if items[i] & items[j])
    return Instance(independent_set(graph, generator.integers(1, 101, sets).astype(float)))


def _cover(n: int, generator: Generator) -> Instance:
    """A vertex cover of the least weight: an edge with both ends at 0 costs more than a node."""
    graph = nx.gnm_random_graph(n, 4 * n, seed=int(generator.integers(2**31)))
    edges = np.array(graph.edges)
    penalty = 101.0
    unary = penalty * np.bincount(edges.ravel(), minlength=n) - generator.integers(1, 101, n)
    pairwise = np.full((1, len(edges)), -penalty)
    return Instance(Problem.from_arrays(unary[None], pairwise, edges=edges))


CLIQUES: dict[str, Family] = {
    "clique in a Hamming graph": Family("DIMACS 1993, hamming6-4, hamming8-4", (6, 8), _hamming),
    "clique in a Johnson graph": Family(
        "DIMACS 1993, johnson16-2-4, johnson32-2-4", (16, 32), _johnson
    ),
    "clique in a Keller graph": Family(
        "Lagarias and Shor 1992; of dimension 4, keller4 of DIMACS", (3, 4), _keller
    ),
    "hidden clique": Family(
        "Brockington and Culberson 1996, two thirds of the pairs", (200, 300), _hidden_clique
    ),
    "weighted independent set": Family(
        "Pullan 2008, weights of DIMACS-W, 0.3 of the pairs", (200, 300), _weighted
    ),
    "independent set of atoms": Family(
        "Ebadi and others 2022, a square with diagonals, four fifths full", (12, 17), _atoms
    ),
    "set packing": Family(
        "Delorme, Gandibleux and Rodriguez 2004, sets of 4 items", (200, 300), _packing
    ),
    "vertex cover": Family("Lucas 2014, weighted, mean degree 8", (100, 200), _cover),
}
"""By name."""
