"""Families of random problems as users bring them, each at three sizes: one instance a draw."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import networkx as nx
import numpy as np

from solvers import Problem

Draw = Callable[[int, np.random.Generator], Problem]
"""(size, generator) -> one instance."""

FAMILIES: dict[str, tuple[tuple[int, int, int], Draw]] = {}
"""By name: three sizes, small to large, and the draw."""


def family(name: str, *sizes: int) -> Callable[[Draw], Draw]:
    """Puts a draw into `FAMILIES`."""

    def put(draw: Draw) -> Draw:
        small, middle, large = sizes
        FAMILIES[name] = ((small, middle, large), draw)
        return draw

    return put


def from_matrix(matrix: np.ndarray) -> Problem:
    """Maximise z' matrix z."""
    both = np.triu(matrix + matrix.T, 1)
    i, j = np.nonzero(both)
    return Problem.from_arrays(
        np.diag(matrix)[None], both[i, j][None], edges=np.stack([i, j], axis=1)
    )


def ising(graph: nx.Graph, couplings: np.ndarray, fields: np.ndarray | None = None) -> Problem:
    """Maximise sum J_ij s_i s_j + sum h_i s_i over spins s = 2 z - 1, without its constant."""
    edges = _edges(graph)
    unary = np.zeros(len(graph)) if fields is None else 2.0 * fields
    for end in (0, 1):
        np.subtract.at(unary, edges[:, end], 2.0 * couplings)
    return Problem.from_arrays(unary[None], 4.0 * couplings[None], edges=edges)


def signs(graph: nx.Graph, generator: np.random.Generator) -> Problem:
    """Couplings of +-1, no field."""
    return ising(graph, generator.choice([-1.0, 1.0], graph.number_of_edges()))


def normal(graph: nx.Graph, generator: np.random.Generator, field: float = 0.0) -> Problem:
    """Normal couplings, in a normal field of that strength."""
    fields = field * generator.normal(size=len(graph)) if field else None
    return ising(graph, generator.normal(size=graph.number_of_edges()), fields)


def max_cut(graph: nx.Graph, weights: np.ndarray) -> Problem:
    """Maximise the weight of the edges that are cut."""
    return ising(graph, -weights / 2)


def independent_set(graph: nx.Graph, weights: np.ndarray) -> Problem:
    """Maximise the weight of nodes no two of which are neighbours, by a penalty above both ends' weights."""
    edges = _edges(graph)
    return Problem.from_arrays(weights[None], -(weights[edges].sum(axis=1) + 1)[None], edges=edges)


def chimera(side: int) -> nx.Graph:
    """Cells of four times four nodes on a square, with links between cells."""
    graph = nx.Graph()
    for row, column in product(range(side), repeat=2):
        cell = [[(row, column, half, k) for k in range(4)] for half in (0, 1)]
        graph.add_edges_from(product(*cell))
        if row + 1 < side:
            graph.add_edges_from((node, (row + 1, *node[1:])) for node in cell[0])
        if column + 1 < side:
            graph.add_edges_from((node, (row, column + 1, *node[2:])) for node in cell[1])
    return graph


def _edges(graph: nx.Graph) -> np.ndarray:
    number = {node: k for k, node in enumerate(graph)}
    return np.array([(number[u], number[v]) for u, v in graph.edges], dtype=np.int64).reshape(-1, 2)


def _seed(generator: np.random.Generator) -> int:
    return int(generator.integers(2**31))


# --- dense ----------------------------------------------------------------------------------------


@family("dense, normal", 40, 80, 120)
def _(n: int, generator: np.random.Generator) -> Problem:
    return from_matrix(np.triu(generator.normal(size=(n, n))))


@family("dense, whole numbers within 100", 40, 70, 100)
def _(n: int, generator: np.random.Generator) -> Problem:
    return from_matrix(np.triu(generator.integers(-100, 101, (n, n)).astype(float)))


@family("half dense, whole numbers within 50", 40, 80, 120)
def _(n: int, generator: np.random.Generator) -> Problem:
    values = generator.integers(-50, 51, (n, n)) * (generator.random((n, n)) < 0.5)
    return from_matrix(np.triu(values.astype(float)))


@family("tenth dense, whole numbers within 100", 50, 100, 200)
def _(n: int, generator: np.random.Generator) -> Problem:
    values = generator.integers(-100, 101, (n, n)) * (generator.random((n, n)) < 0.1)
    return from_matrix(np.triu(values.astype(float)))


@family("spin glass on all pairs, +-1", 30, 50, 80)
def _(n: int, generator: np.random.Generator) -> Problem:
    return signs(nx.complete_graph(n), generator)


@family("max-cut, half of all pairs", 30, 50, 80)
def _(n: int, generator: np.random.Generator) -> Problem:
    graph = nx.gnp_random_graph(n, 0.5, seed=_seed(generator))
    return max_cut(graph, np.ones(graph.number_of_edges()))


@family("number partitioning", 25, 40, 60)
def _(n: int, generator: np.random.Generator) -> Problem:
    a = generator.integers(1, 1000, n).astype(float)
    return from_matrix(4 * a.sum() * np.diag(a) - 4 * np.outer(a, a))


@family("binary least squares", 30, 50, 80)
def _(n: int, generator: np.random.Generator) -> Problem:
    a = generator.normal(size=(2 * n, n))
    b = a @ (generator.random(n) < 0.5) + generator.normal(size=2 * n)
    return from_matrix(2 * np.diag(a.T @ b) - a.T @ a)


@family("portfolio", 40, 80, 150)
def _(n: int, generator: np.random.Generator) -> Problem:
    loadings = generator.normal(size=(n, 5))
    covariance = loadings @ loadings.T / 5 + np.diag(generator.random(n))
    return from_matrix(np.diag(generator.normal(1, 1, n)) - 0.5 * covariance)


@family("modularity into two communities", 34, 60, 100)
def _(n: int, generator: np.random.Generator) -> Problem:
    graph = nx.stochastic_block_model(
        [n // 2, n - n // 2], [[0.3, 0.05], [0.05, 0.3]], seed=_seed(generator)
    )
    adjacency = nx.to_numpy_array(graph)
    degrees = adjacency.sum(axis=1)
    modularity = adjacency - np.outer(degrees, degrees) / max(degrees.sum(), 1)
    complete = nx.complete_graph(n)
    return ising(complete, modularity[tuple(_edges(complete).T)])


@family("bisection by a penalty", 30, 50, 80)
def _(n: int, generator: np.random.Generator) -> Problem:
    graph = nx.gnp_random_graph(n, 6 / n, seed=_seed(generator))
    complete = nx.complete_graph(n)
    return ising(complete, nx.to_numpy_array(graph)[tuple(_edges(complete).T)] - 1.0)


@family("supermodular, all pairs", 50, 200, 400)
def _(n: int, generator: np.random.Generator) -> Problem:
    pairwise = np.triu(np.abs(generator.normal(size=(n, n))), 1)
    return from_matrix(pairwise - np.diag((pairwise + pairwise.T).sum(axis=1) / 2))


# --- lattices -------------------------------------------------------------------------------------


@family("grid, +-1", 10, 22, 32)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(nx.grid_2d_graph(side, side), generator)


@family("grid, normal", 10, 22, 32)
def _(side: int, generator: np.random.Generator) -> Problem:
    return normal(nx.grid_2d_graph(side, side), generator)


@family("grid, normal, in a field", 10, 25, 50)
def _(side: int, generator: np.random.Generator) -> Problem:
    return normal(nx.grid_2d_graph(side, side), generator, field=1.0)


@family("grid on a torus, +-1", 8, 14, 20)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(nx.grid_2d_graph(side, side, periodic=True), generator)


@family("triangular lattice, +-1", 8, 14, 20)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(nx.triangular_lattice_graph(side, 2 * side), generator)


@family("hexagonal lattice, +-1", 6, 12, 18)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(nx.hexagonal_lattice_graph(side, side), generator)


@family("king's graph, normal", 8, 12, 20)
def _(side: int, generator: np.random.Generator) -> Problem:
    king = nx.strong_product(nx.path_graph(side), nx.path_graph(side))
    return normal(king, generator, field=0.5)


@family("cube, +-1", 4, 5, 6)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(nx.grid_graph([side] * 3), generator)


@family("cube, normal, in a field", 4, 6, 8)
def _(side: int, generator: np.random.Generator) -> Problem:
    return normal(nx.grid_graph([side] * 3), generator, field=1.0)


@family("image restored by smoothing", 20, 60, 150)
def _(side: int, generator: np.random.Generator) -> Problem:
    rows, columns = np.ogrid[:side, :side]
    disc = (rows - side / 2) ** 2 + (columns - side / 2) ** 2 < side**2 / 9
    seen = np.where(generator.random((side, side)) < 0.2, ~disc, disc)
    graph = nx.grid_2d_graph(side, side)
    return ising(graph, np.full(graph.number_of_edges(), 0.4), (seen - 0.5).ravel())


@family("image sharpened by deconvolution", 8, 12, 16)
def _(side: int, generator: np.random.Generator) -> Problem:
    n = side * side
    blur = np.zeros((n, n))
    for row, column, down, right in product(range(side), range(side), (-1, 0, 1), (-1, 0, 1)):
        if 0 <= row + down < side and 0 <= column + right < side:
            blur[row * side + column, (row + down) * side + column + right] = 1 / 9
    seen = blur @ (generator.random(n) < 0.5) + 0.05 * generator.normal(size=n)
    return from_matrix(2 * np.diag(blur.T @ seen) - blur.T @ blur)


@family("chimera, +-1", 2, 4, 6)
def _(side: int, generator: np.random.Generator) -> Problem:
    return signs(chimera(side), generator)


# --- sparse graphs --------------------------------------------------------------------------------


@family("tree, normal", 100, 1000, 10000)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.random_labeled_tree(n, seed=_seed(generator)), generator, field=1.0)


@family("degree 3, +-1", 50, 100, 200)
def _(n: int, generator: np.random.Generator) -> Problem:
    return signs(nx.random_regular_graph(3, n, seed=_seed(generator)), generator)


@family("degree 3, normal, in a field", 100, 200, 300)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.random_regular_graph(3, n, seed=_seed(generator)), generator, field=1.0)


@family("degree 4, normal", 40, 70, 100)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.random_regular_graph(4, n, seed=_seed(generator)), generator)


@family("degree 8, normal, in a field", 40, 70, 100)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.random_regular_graph(8, n, seed=_seed(generator)), generator, field=1.0)


@family("random graph of mean degree 2.5", 100, 300, 1000)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.gnm_random_graph(n, 5 * n // 4, seed=_seed(generator)), generator)


@family("scale-free, +-1", 50, 100, 200)
def _(n: int, generator: np.random.Generator) -> Problem:
    return signs(nx.barabasi_albert_graph(n, 2, seed=_seed(generator)), generator)


@family("small world, normal", 50, 100, 200)
def _(n: int, generator: np.random.Generator) -> Problem:
    return normal(nx.watts_strogatz_graph(n, 4, 0.1, seed=_seed(generator)), generator, field=0.3)


@family("neighbours in the plane, +-1", 60, 120, 240)
def _(n: int, generator: np.random.Generator) -> Problem:
    radius = float(np.sqrt(6 / (np.pi * n)))
    return signs(nx.random_geometric_graph(n, radius, seed=_seed(generator)), generator)


# --- combinatorial --------------------------------------------------------------------------------


@family("independent set, mean degree 6", 50, 100, 200)
def _(n: int, generator: np.random.Generator) -> Problem:
    graph = nx.gnp_random_graph(n, 6 / n, seed=_seed(generator))
    return independent_set(graph, np.ones(n))


@family("independent set, weighted, half dense", 40, 80, 120)
def _(n: int, generator: np.random.Generator) -> Problem:
    graph = nx.gnp_random_graph(n, 0.5, seed=_seed(generator))
    return independent_set(graph, generator.integers(1, 20, n).astype(float))


@family("max-2-SAT, three clauses a variable", 40, 70, 100)
def _(n: int, generator: np.random.Generator) -> Problem:
    matrix = np.zeros((n, n))
    for _ in range(3 * n):
        i, j = np.sort(generator.choice(n, 2, replace=False))
        # A literal fails where w + a z = 1; both failing costs one.
        w, v = generator.integers(0, 2, 2)
        a, b = 1 - 2 * w, 1 - 2 * v
        matrix[i, i] -= a * v
        matrix[j, j] -= b * w
        matrix[i, j] -= a * b
    return from_matrix(matrix)


@family("assignment by penalties", 4, 6, 8)
def _(side: int, generator: np.random.Generator) -> Problem:
    gain, penalty = generator.integers(1, 20, (side, side)), 20.0
    matrix = np.diag(gain.ravel().astype(float) + 2 * penalty)
    place = np.arange(side * side).reshape(side, side)
    for group in [*place, *place.T]:
        matrix[np.ix_(group, group)] -= penalty
    return from_matrix(matrix)


@family("colouring by penalties", 10, 20, 30)
def _(nodes: int, generator: np.random.Generator) -> Problem:
    graph, colours = nx.gnp_random_graph(nodes, 4 / nodes, seed=_seed(generator)), 3
    matrix = np.kron(np.eye(nodes), 2 * np.eye(colours) - np.ones((colours, colours)))
    for i, j in graph.edges:
        for colour in range(colours):
            matrix[colours * i + colour, colours * j + colour] -= 1
    return from_matrix(matrix)


@family("knapsack by a penalty with slack bits", 15, 25, 40)
def _(n: int, generator: np.random.Generator) -> Problem:
    weight, value = generator.integers(1, 30, n), generator.integers(1, 30, n)
    capacity = int(weight.sum() // 2)
    slack = [2**k for k in range(capacity.bit_length() - 1)]
    slack.append(capacity - sum(slack))
    a, penalty = np.array([*weight, *slack], dtype=float), 30.0
    gain = np.array([*value, *[0] * len(slack)], dtype=float)
    return from_matrix(np.diag(gain + 2 * penalty * capacity * a) - penalty * np.outer(a, a))


@family("set packing", 40, 80, 160)
def _(n: int, generator: np.random.Generator) -> Problem:
    members = generator.random((n, n // 2)) < 3 / (n // 2)
    clash = nx.from_numpy_array(np.triu((members.astype(int) @ members.T) > 0, 1))
    return independent_set(clash, generator.integers(1, 10, n).astype(float))
