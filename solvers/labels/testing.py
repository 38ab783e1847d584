"""Adapt the conformance kit to label solvers.

`check_conformance` of `solvers.testing` takes both binary and label solvers.

Example:
    >>> from solvers import solver_class
    >>> check_conformance(solver_class("exhaustive", "labels")(), count=20)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..problems.problem import EPSILON
from ..solution import Solution
from ..testing import (
    LARGE,
    SEARCHED,
    Cases,
    Drawn,
    Kit,
    check_conformance,
    check_large_answer,
    exact_sums,
)
from .problem import LabelProblem
from .solver import LabelSolver

__all__ = ["LabelInstances", "LabelKit", "check_conformance", "random_instances"]


@dataclass(frozen=True, eq=False)
class LabelInstances:
    """Small batch of instances as arrays.

    Attributes:
        unary: `[3, n, k]`.
        pairwise: `[3, e, k, k]`.
        edges: `[e, 2]`, in any direction.
        sizes: `[n]`.
    """

    unary: np.ndarray
    pairwise: np.ndarray
    edges: np.ndarray
    sizes: np.ndarray

    def problem(self) -> LabelProblem[np.ndarray]:
        """Return the problem that solvers receive."""
        if not len(self.edges):
            return LabelProblem.from_arrays(self.unary, sizes=self.sizes)
        return LabelProblem.from_arrays(
            self.unary, self.pairwise, edges=self.edges, sizes=self.sizes
        )

    def scores(self) -> np.ndarray:
        """Return the scores `[3, assignments]` of all assignments, as an oracle.

        The last variable changes first. The oracle shares no code with the solvers.
        """
        states = np.array(list(np.ndindex(*self.sizes)), np.int64)
        total = self.unary[:, np.arange(len(self.sizes)), states].sum(axis=-1)
        for edge, (i, j) in enumerate(self.edges):
            total = total + self.pairwise[:, edge, states[:, i], states[:, j]]
        return np.asarray(total)

    def state_numbers(self, solution: Solution) -> np.ndarray:
        """Return the places `[3]` of a solution's labels in `scores`."""
        labels = solution.labels
        assert ((labels >= 0) & (labels < self.sizes)).all(), (
            "labels are not values of their variables"
        )
        return np.asarray(np.ravel_multi_index(labels.T, self.sizes))

    def slack(self) -> np.ndarray:
        """Return the maximum rounding error `[3]` of a score."""
        of_variables = np.abs(self.unary).max(axis=-1).sum(axis=-1)
        finite = np.where(np.isinf(self.pairwise), 0.0, self.pairwise)
        of_pairs = np.abs(finite).max(axis=(-1, -2)).sum(axis=-1)
        size = self.unary.shape[1] + self.pairwise.shape[1]
        return np.asarray(2 * EPSILON * size * (of_variables + of_pairs))


def random_instances(
    count: int, max_states: int, generator: np.random.Generator, *, pairs: bool = True
) -> Iterator[LabelInstances]:
    """Yield small batches of every kind that has broken solvers.

    They have up to 7 variables of 1 to 6 values, and dense, sparse or no edges in both directions.
    Scores are normal or integer (with ties), all equal, Potts, or convex distances, at scales from
    1e-9 to 1e9. Some batches have forbidden values.

    Args:
        count: number of batches of 3 instances.
        max_states: maximum number of assignments of an instance, for enumeration.
        generator: the source of randomness.
        pairs: whether there are edges.
    """
    for _ in range(count):
        sizes = generator.integers(1, 7, generator.integers(1, 8))
        while sizes.prod() > max_states:
            sizes[sizes.argmax()] -= 1
        n = len(sizes)
        k = int(sizes.max())
        edges = np.stack(np.triu_indices(n, 1), axis=-1)
        draws = generator.random(len(edges))
        density = 0.0
        if pairs:
            density = generator.choice([0.0, 0.4, 1.0])
        edges = edges[draws < density]
        edges = np.where(generator.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
        draw = _DRAWS[generator.integers(len(_DRAWS))]
        scale = 10.0 ** generator.integers(-9, 10)
        pairwise = draw(len(edges), k, generator)
        if draw is _ties:
            unary = _whole((3, n, k), generator)
        else:
            unary = generator.standard_normal((3, n, k))
        if generator.random() < 0.3:
            forbidden = generator.random(pairwise.shape) < 0.1
            forbidden[..., 0, 0] = False  # the remaining share
            pairwise = np.where(forbidden, -np.inf, pairwise)
        yield LabelInstances(scale * unary, scale * pairwise, edges, sizes)


def _whole(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    return generator.integers(-2, 3, shape).astype(np.float64)


def _normal(e: int, k: int, generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal((3, e, k, k))


def _ties(e: int, k: int, generator: np.random.Generator) -> np.ndarray:
    return _whole((3, e, k, k), generator)


def _potts(e: int, k: int, generator: np.random.Generator) -> np.ndarray:
    return np.asarray(generator.standard_normal((3, e, 1, 1)) * np.eye(k))


def _convex(e: int, k: int, generator: np.random.Generator) -> np.ndarray:
    values = np.arange(k)
    return np.asarray(-generator.random((3, e, 1, 1)) * np.square(values[:, None] - values))


_DRAWS = (_normal, _ties, _potts, _convex)


class LabelKit(Kit):
    """Conformance kit for label solvers."""

    def cases(
        self, solver: LabelSolver, count: int, generator: np.random.Generator
    ) -> Iterator[Cases]:
        """Yield small batches, with pairs if a solver takes them."""
        pairs = solver.capabilities.pairwise
        yield from random_instances(count, self.max_states, generator, pairs=pairs)

    def drawn(self, solver: LabelSolver, generator: np.random.Generator) -> Iterator[Drawn]:
        """Yield variables of four values, all of whose pairs score equal values, and a chain."""
        n = SEARCHED
        if solver.capabilities.exact:
            n = 5
        every = np.stack(np.triu_indices(n, 1), axis=-1)
        if not solver.capabilities.pairwise:
            every = every[:0]
        for edges in (every, np.array([[0, 1], [2, 1]])):
            variables = int(edges.max(initial=n - 1)) + 1
            unary = generator.standard_normal((3, variables, 4))
            pairwise = generator.random((3, len(edges), 1, 1)) * np.eye(4)
            yield LabelProblem.from_arrays, unary, pairwise, edges

    def check_more(self, solver: LabelSolver, problem: LabelProblem, cases: Cases) -> None:
        """Check nothing more, since label solvers find one assignment at a time."""

    def check_large(self, solver: LabelSolver, generator: np.random.Generator) -> None:
        """Check sums of some hundred float32 scores without pairs."""
        unary = generator.standard_normal((3, LARGE, 4)).astype(np.float32)
        no_pairs = np.zeros((3, 0, 4, 4), np.float32)
        instances = LabelInstances(unary, no_pairs, np.zeros((0, 2), int), np.full(LARGE, 4))

        def scores_of(solution: Solution) -> np.ndarray:
            labels = solution.labels
            assert ((labels >= 0) & (labels < 4)).all(), "labels are not values of their variables"
            return exact_sums(np.take_along_axis(unary, labels[..., None], axis=2)[..., 0])

        best = exact_sums(unary.max(axis=2))
        check_large_answer(solver, instances.problem(), best, scores_of, instances.slack())

    def check_refusals(self, solver: LabelSolver) -> None:
        """Check nothing more, since each refused batch is checked when it occurs."""
