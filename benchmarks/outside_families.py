"""Families of problems that the library was not tuned on, from published generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TypeAlias

import networkx as nx
import numpy as np

from benchmarks.families import chimera, from_matrix, independent_set, ising
from solvers import Problem
from solvers.constraints import Constraint, at_most, cardinality, linear, one_of
from solvers.conversions import from_polynomial
from solvers.labels import LabelProblem

Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem, to be maximised.

    Attributes:
        problem: over bits or labels, batch 1.
        constraints: over its bits.
    """

    problem: Problem | LabelProblem
    constraints: Sequence[Constraint] = field(default=())


Draw: TypeAlias = Callable[[int, Generator], Instance]
"""(size, generator) -> one instance."""


@dataclass(frozen=True)
class Family:
    """Instances of one kind.

    Attributes:
        source: who published the generator, and when.
        sizes: of the instances.
        draw: makes an instance.
    """

    source: str
    sizes: tuple[int, ...]
    draw: Draw


GENERATED: dict[str, Family] = {}
"""By name."""


def family(name: str, source: str, *sizes: int) -> Callable[[Draw], Draw]:
    """Put a draw into `GENERATED`."""

    def put(draw: Draw) -> Draw:
        GENERATED[name] = Family(source, sizes, draw)
        return draw

    return put


def labels(unary: np.ndarray, pairwise: np.ndarray, edges: Sequence[Sequence[int]]) -> Instance:
    """Labels with a table `[k, k]` for each edge, or a score of equal values for each edge."""
    options = {"pairwise" if pairwise.ndim == 3 else "potts": pairwise}
    return Instance(LabelProblem.from_arrays(unary, edges=np.asarray(edges), **options))


def _pairs(n: int) -> np.ndarray:
    return np.array(list(combinations(range(n), 2)))


# --- bits -----------------------------------------------------------------------------------------


@family("MIMO detection", "Kim, Venturelli and Jamieson 2019, QPSK, 10 dB", 40, 60)
def _(n: int, generator: Generator) -> Instance:
    channel = generator.normal(size=(n, n)) / np.sqrt(2)
    sent = generator.choice([-1.0, 1.0], n)
    received = channel @ sent + np.sqrt(n / 20) * generator.normal(size=n)
    shifted = received + channel.sum(axis=1)
    gram = channel.T @ channel
    return Instance(from_matrix(4 * np.diag(channel.T @ shifted) - 4 * gram))


@family("LDPC decoding", "Gallager 1962, (3, 6)-code; bits of Kasi and Jamieson 2020", 48, 96)
def _(n: int, generator: Generator) -> Instance:
    """The error of least weight with a syndrome: error + syndrome is even in every check."""
    checks = [row for _ in range(3) for row in generator.permutation(n).reshape(-1, 6)]
    total = n + 2 * len(checks)
    error = generator.random(n) < 0.07
    scores = np.diag(np.concatenate([np.full(n, -1.0), np.zeros(total - n)]))
    for number, check in enumerate(checks):
        parity = np.zeros(total)
        parity[check] = 1.0
        parity[n + 2 * number : n + 2 * number + 2] = -2.0, -4.0
        syndrome = int(error[check].sum()) % 2
        scores -= 2.0 * (np.outer(parity, parity) + 2 * syndrome * np.diag(parity))
    return Instance(from_matrix(scores))


@family("Wishart planted ensemble", "Hamze and others 2020, alpha = 0.75", 32, 48)
def _(n: int, generator: Generator) -> Instance:
    planted = generator.choice([-1.0, 1.0], n)
    columns = generator.normal(size=(n, 3 * n // 4))
    columns -= np.outer(planted, planted @ columns) / n
    couplings = -(columns @ columns.T) / n
    return Instance(ising(nx.complete_graph(n), couplings[tuple(_pairs(n).T)]))


@family("tile planting on a torus", "Hamze and others 2018, classes C1 and C2", 16, 32)
def _(side: int, generator: Generator) -> Instance:
    graph = nx.empty_graph(product(range(side), repeat=2))
    for row, column in product(range(side), repeat=2):
        if (row + column) % 2:
            continue
        below, right = (row + 1) % side, (column + 1) % side
        corners = [(row, column), (row, right), (below, right), (below, column)]
        sizes = [-1.0, generator.choice([1.0, 2.0]), 2.0, 2.0]
        around = zip(corners, corners[1:] + corners[:1], strict=True)
        for ends, size in zip(around, generator.permutation(sizes), strict=True):
            graph.add_edge(*ends, coupling=size)
    return Instance(_gauged(graph, generator))


def _gauged(graph: nx.Graph, generator: Generator) -> Problem:
    """Spins with the couplings of a graph whose ground state is moved to a random state."""
    spins = dict(zip(graph, generator.choice([-1.0, 1.0], len(graph)), strict=True))
    couplings = [spins[i] * spins[j] * size for i, j, size in graph.edges(data="coupling")]
    return ising(graph, np.array(couplings))


@family("frustrated loops on Chimera", "Hen and others 2015, a fifth of n loops", 4, 8)
def _(side: int, generator: Generator) -> Instance:
    grid = chimera(side)
    couplings = dict.fromkeys(map(frozenset, grid.edges), 0.0)
    for _ in range(len(grid) // 5):
        loop = _random_loop(grid, generator)
        weak = int(generator.integers(len(loop)))
        around = zip(loop, loop[1:] + loop[:1], strict=True)
        for number, ends in enumerate(around):
            couplings[frozenset(ends)] += -1.0 if number == weak else 1.0
    graph = nx.empty_graph(grid)
    graph.add_edges_from(
        (*sorted(ends), {"coupling": size}) for ends, size in couplings.items() if size
    )
    return Instance(_gauged(graph, generator))


def _random_loop(graph: nx.Graph, generator: Generator) -> list[tuple[int, ...]]:
    """The loop of at least eight nodes that a random walk closes first."""
    nodes = list(graph)
    while True:
        path = [nodes[generator.integers(len(nodes))]]
        while path[-1] not in path[:-1]:
            neighbours = list(graph[path[-1]])
            path.append(neighbours[generator.integers(len(neighbours))])
        loop = path[path.index(path[-1]) : -1]
        if len(loop) >= 8:
            return loop


@family(
    "independent set in a code graph", "Sloane's challenge 1dc: words that share a subword", 64, 128
)
def _(n: int, generator: Generator) -> Instance:
    words = [format(number, f"0{n.bit_length() - 1}b") for number in range(n)]
    shorter = [{word[:k] + word[k + 1 :] for k in range(len(word))} for word in words]
    graph = nx.empty_graph(n)
    graph.add_edges_from((i, j) for i, j in _pairs(n) if shorter[i] & shorter[j])
    return Instance(independent_set(graph, np.ones(n)))


@family("low autocorrelation sequence", "Bernasconi 1987, as quadratic bits", 11, 15)
def _(length: int, generator: Generator) -> Instance:
    energy: dict[tuple[int, ...], float] = {}
    for lag in range(1, length):
        for i, j in product(range(length - lag), repeat=2):
            spins = frozenset([i]) ^ {i + lag} ^ {j} ^ {j + lag}
            key = tuple(sorted(spins))
            energy[key] = energy.get(key, 0.0) - 1.0
    return Instance(from_polynomial(energy, sense="maximise", variables="spins").problem)


@family("bipartite quadratic bits", "Karapetyan and Punnen 2012, within 100", 60, 80)
def _(n: int, generator: Generator) -> Instance:
    few = 2 * n // 5
    scores = np.diag(generator.integers(-100, 101, n).astype(float))
    scores[:few, few:] = generator.integers(-100, 101, (few, n - few))
    return Instance(from_matrix(scores))


# --- bits with constraints ------------------------------------------------------------------------


@family("quadratic knapsack", "Billionnet and Soutif 2004, a quarter of the pairs", 50, 100)
def _(n: int, generator: Generator) -> Instance:
    profit = generator.integers(1, 101, (n, n)) * (generator.random((n, n)) < 0.25)
    weights = generator.integers(1, 51, n)
    capacity = int(generator.integers(50, weights.sum()))
    return Instance(from_matrix(np.triu(profit).astype(float)), [linear(weights, "<=", capacity)])


@family("maximum diversity", "Glover, Kuo and Dhir 1998, a tenth chosen", 50, 100)
def _(n: int, generator: Generator) -> Instance:
    points = generator.uniform(0, 10, (n, 10))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    return Instance(from_matrix(np.triu(apart, 1)), [cardinality(n // 10)])


@family("generalised assignment", "Chu and Beasley 1997, type C, 5 agents", 15, 25)
def _(jobs: int, generator: Generator) -> Instance:
    need = generator.integers(5, 26, (5, jobs))
    cost = generator.integers(10, 51, (5, jobs)).astype(float)
    place = np.arange(5 * jobs).reshape(5, jobs)
    capacity = (0.8 * need.sum(axis=1) / 5).astype(int)
    agents = [
        linear(dict(zip(row.tolist(), load.tolist(), strict=True)), "<=", int(most))
        for row, load, most in zip(place, need, capacity, strict=True)
    ]
    done = [one_of(column.tolist()) for column in place.T]
    return Instance(Problem.from_arrays(-cost.reshape(1, -1)), [*agents, *done])


@family("graph bisection", "Johnson and others 1989, geometric graphs of mean degree 10", 60, 100)
def _(n: int, generator: Generator) -> Instance:
    radius = float(np.sqrt(10 / (np.pi * n)))
    graph = nx.random_geometric_graph(n, radius, seed=int(generator.integers(2**31)))
    return Instance(ising(graph, np.full(graph.number_of_edges(), 0.5)), [cardinality(n // 2)])


@family("combinatorial auction", "Sandholm and others 2005, decay, alpha = 0.75", 150, 300)
def _(bids: int, generator: Generator) -> Instance:
    items = bids // 4
    wanted: list[list[int]] = [[] for _ in range(items)]
    price = np.zeros(bids)
    for bid in range(bids):
        count = min(int(generator.geometric(0.25)), items)
        for item in generator.choice(items, count, replace=False):
            wanted[item].append(bid)
        price[bid] = np.ceil(1000 * generator.uniform(0, count))
    groups = [at_most(1, group) for group in wanted if len(group) > 1]
    return Instance(Problem.from_arrays(price[None]), groups)


@family("feature selection", "Guyon 2003, relevance less redundancy, a fifth chosen", 50, 100)
def _(n: int, generator: Generator) -> Instance:
    informative = generator.normal(size=(500, n // 5))
    mixed = informative @ generator.normal(size=(n // 5, n // 5))
    features = np.hstack([informative, mixed, generator.normal(size=(500, n - 2 * (n // 5)))])
    target = informative.sum(axis=1) + generator.normal(size=500)
    alike = np.abs(np.corrcoef(np.column_stack([features, target]).T))
    scores = np.diag(alike[-1, :-1]) - np.triu(alike[:-1, :-1], 1) / (n // 5)
    return Instance(from_matrix(scores), [cardinality(n // 5)])


# --- labels ---------------------------------------------------------------------------------------


@family("Potts segmentation", "Szeliski and others 2008, weights by contrast, 6 labels", 20, 40)
def _(side: int, generator: Generator) -> Instance:
    rows, columns = np.mgrid[:side, :side] / side
    truth = (3 * np.hypot(rows - 0.5, columns - 0.3) + 4 * rows * columns).astype(int) % 6
    seen = (truth + 0.9 * generator.normal(size=truth.shape)).ravel()
    unary = -((seen[:, None] - np.arange(6)) ** 2)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    edges = np.array(graph.edges)
    contrast = (seen[edges[:, 0]] - seen[edges[:, 1]]) ** 2
    return labels(unary, 0.3 + 1.5 * np.exp(-contrast), edges)


@family("planted 3-colouring", "Culberson's flat graphs, mean degree 4.6", 60, 120)
def _(n: int, generator: Generator) -> Instance:
    colour = np.arange(n) % 3
    pairs = _pairs(n)
    allowed = pairs[colour[pairs[:, 0]] != colour[pairs[:, 1]]]
    edges = allowed[generator.choice(len(allowed), round(2.3 * n), replace=False)]
    return labels(np.zeros((n, 3)), np.full(len(edges), -1.0), edges)


@family("frequency assignment", "van Benthem 1995, GRAPH, soft distances, 12 frequencies", 20, 40)
def _(n: int, generator: Generator) -> Instance:
    graph = nx.gnm_random_graph(n, 3 * n, seed=int(generator.integers(2**31)))
    gaps = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    distance = generator.integers(1, 7, graph.number_of_edges())
    penalty = 10.0 ** generator.integers(0, 4, graph.number_of_edges())
    tables = -penalty[:, None, None] * (gaps < distance[:, None, None])
    return labels(-generator.integers(0, 3, (n, 12)).astype(float), tables, list(graph.edges))


@family("side chains of a protein", "Yanover and Weiss 2002, rotamers with clashes", 20, 40)
def _(n: int, generator: Generator) -> Instance:
    k = 9
    places = generator.uniform(0, n ** (1 / 3), (n, 3))
    pairs = _pairs(n)
    apart = np.sqrt(((places[pairs[:, 0]] - places[pairs[:, 1]]) ** 2).sum(axis=1))
    near = apart < 1.1
    tables = generator.normal(size=(int(near.sum()), k, k)) / apart[near, None, None]
    clashes = generator.random(tables.shape) < 0.15
    return labels(2 * generator.normal(size=(n, k)), np.where(clashes, -50.0, tables), pairs[near])


@family("coupled hidden Markov chains", "Brand 1997, 4 chains of 5 states", 10, 40)
def _(length: int, generator: Generator) -> Instance:
    graph = nx.grid_2d_graph(4, length)
    graph.add_edges_from(
        ((a, t), (b, t + 1)) for a, b, t in product(range(4), range(4), range(length - 1)) if a != b
    )
    numbered = nx.convert_node_labels_to_integers(graph)
    tables = np.log(generator.dirichlet(np.full(5, 0.5), (len(numbered.edges), 5)) + 1e-3)
    return labels(np.log(generator.dirichlet(np.ones(5), len(graph))), tables, list(numbered.edges))


@family("matching of points", "Torresani, Kolmogorov and Rother 2008, as labels", 8, 12)
def _(n: int, generator: Generator) -> Instance:
    first = generator.uniform(size=(n, 2))
    second = first[generator.permutation(n)] + 0.05 * generator.normal(size=(n, 2))
    apart = [np.sqrt(((cloud[:, None] - cloud) ** 2).sum(axis=2)) for cloud in (first, second)]
    pairs = _pairs(n)
    tables = -np.abs(apart[0][tuple(pairs.T)][:, None, None] - apart[1])
    tables[:, np.arange(n), np.arange(n)] = -np.inf
    return labels(np.zeros((n, n)), tables, pairs)
