"""Draw random problems from named families, for tests, benchmarks and first experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from .problems.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Instances:
    """Batch of random problems as numpy arrays.

    Attributes:
        unary: `[batch, n]`, float64.
        pairwise: `[batch, e]`, float64.
        edges: `[e, 2]`, int64.
    """

    unary: Float[np.ndarray, "batch n"]
    pairwise: Float[np.ndarray, "batch e"]
    edges: Int[np.ndarray, "e 2"]

    def problem(self) -> Problem[np.ndarray]:
        """Return the checked problem of these arrays."""
        return Problem.from_arrays(self.unary, self.pairwise, edges=self.edges)


def dense(n: int, batch: int, generator: np.random.Generator) -> Instances:
    """Draw problems over all pairs, with standard normal scores."""
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    normal = generator.standard_normal
    return Instances(normal((batch, n)), normal((batch, len(edges))), edges)


def supermodular(n: int, batch: int, generator: np.random.Generator) -> Instances:
    """Draw problems over all pairs with scores `|normal|`, balanced by the unary scores.

    Balanced unary scores make the minimum cuts nontrivial.
    """
    signed = dense(n, batch, generator)
    pairwise = np.abs(signed.pairwise)
    return Instances(_balanced(signed.unary, pairwise, signed.edges), pairwise, signed.edges)


def grid(rows: int, columns: int, batch: int, generator: np.random.Generator) -> Instances:
    """Draw lattices with scores `|normal|` between neighbours and balanced unary scores."""
    spin = spin_glass(rows, columns, batch, generator)
    pairwise = np.abs(spin.pairwise)
    return Instances(_balanced(spin.unary, pairwise, spin.edges), pairwise, spin.edges)


def spin_glass(rows: int, columns: int, batch: int, generator: np.random.Generator) -> Instances:
    """Draw lattices with normal scores of both signs."""
    node = np.arange(rows * columns).reshape(rows, columns)
    down = node[:-1]
    right = node[:, :-1]
    starts = np.concatenate([down.ravel(), right.ravel()])
    steps = np.repeat([columns, 1], [down.size, right.size])
    order = np.lexsort((-steps, starts))
    edges = np.stack([starts, starts + steps], axis=-1)[order]
    normal = generator.standard_normal
    return Instances(normal((batch, rows * columns)), normal((batch, len(edges))), edges)


def tree(n: int, batch: int, generator: np.random.Generator) -> Instances:
    """Draw problems on a uniformly random labelled tree, with normal scores."""
    seed = int(generator.integers(2**31))
    return _on_graph(nx.random_labeled_tree(n, seed=seed), batch, generator)


def _on_graph(graph: nx.Graph, batch: int, generator: np.random.Generator) -> Instances:
    numbered = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    edges = np.sort(np.array(numbered.edges, np.int64).reshape((-1, 2)), axis=1)
    normal = generator.standard_normal
    return Instances(normal((batch, len(numbered))), normal((batch, len(edges))), edges)


def _balanced(unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the unary scores minus half of each variable's pairwise scores."""
    balanced = unary.copy()
    for side in (0, 1):
        np.subtract.at(balanced.T, edges[:, side], pairwise.T / 2)
    return balanced
