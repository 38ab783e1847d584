"""Condition on known labels: the problem of the other variables, and sums over all of them.

Known variables are removed from the problem. A pair with one known end becomes unary scores of the
other end. Tables of elimination then only have free variables, so evidence narrows the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, as_float64, beside, to_numpy
from ..errors import InfeasibleError
from ..gibbs_distribution.evidence import Evidence
from ..gibbs_distribution.samples import Direction
from ..kept import kept
from ..problems.fixed_values import FREE, values_of
from ..problems.topology import Topology
from .fixing import with_values
from .problem import LabelProblem


@dataclass(frozen=True, eq=False)
class LabelEvidence(Evidence[LabelProblem]):
    """Label problem in which some variables have known values.

    A variable that is only known in some instances stays in `rest`, and these instances forbid its
    other values.
    """

    @classmethod
    def of(cls, problem: LabelProblem, fix: Any) -> LabelEvidence:
        """Return the evidence of a caller, in the form of `fix` of `solve`; None for none.

        Raises:
            OptionError: `fix` names no variable of the problem, or a value that it does not have.
            InfeasibleError: known values are forbidden together.
        """
        if not problem.n:  # no variable is free
            return _reduced(problem, problem, np.zeros((problem.batch, 0), np.int64))
        if fix is None:
            return cls.none(problem)
        values = values_of(problem, fix)
        return _reduced(problem, with_values(problem, values), values)

    @kept
    def _known(self) -> np.ndarray:
        """Array `[batch, n, k]`: 1 at the known value of each variable that left the problem."""
        values = np.asarray(self.values)
        has: np.ndarray = (values[:, :, None] == np.arange(self.problem.k)).astype(np.float64)
        has[:, self.places] = 0.0
        return has

    @kept
    def _inside(self) -> np.ndarray:
        """Mask `[e]` of the pairs of `rest`."""
        return inside(self.problem, self.places)

    def lifted(self, ones: Array, pairs: Array) -> tuple[Array, Array]:
        """Return the marginals of all variables and pairs, from those of `rest`.

        If one value of a pair is known, the probabilities of the pair are a product.
        """
        if self.values is None:
            return ones, pairs
        unary = self._known.copy()
        unary[:, self.places] = to_numpy(ones)[:, : len(self.places)]
        first, second = self.problem.topology.pairs.T
        pairwise = unary[:, first, :, None] * unary[:, second, None, :]
        pairwise[:, self._inside] = to_numpy(pairs)
        return unary, pairwise

    def spread(self, ones: Array, pairs: Array) -> tuple[Array, Array]:
        """Return a gradient in all scores, from the gradient in the scores of `rest`."""
        if self.values is None:
            return ones, pairs
        values = self._known
        unary = np.zeros_like(self._known)
        unary[:, self.places] = to_numpy(ones)[:, : len(self.places)]
        first, second = self.problem.topology.pairs.T
        pairwise = unary[:, first, :, None] * values[:, second, None, :]
        pairwise += values[:, first, :, None] * unary[:, second, None, :]
        pairwise[:, self._inside] = to_numpy(pairs)
        return unary, pairwise

    def gathered(self, direction: Direction) -> Direction:
        """Return a direction in the scores of `rest`, from a direction in all scores."""
        if self.values is None:
            return direction
        values = self._known
        whole = direction.unary.copy()
        first, second = self.problem.topology.pairs.T
        across = np.flatnonzero(~self._inside)
        tables = direction.pairwise[:, across]
        # The row or column of the known value; zeros if the other end is not a variable of `rest`.
        to_first = np.einsum("beij,bej->bei", tables, values[:, second[across]])
        to_second = np.einsum("beij,bei->bej", tables, values[:, first[across]])
        by_variable = whole.swapaxes(0, 1)  # a view
        np.add.at(by_variable, first[across], to_first.swapaxes(0, 1))
        np.add.at(by_variable, second[across], to_second.swapaxes(0, 1))
        unary = np.zeros((self.rest.batch, self.rest.n, self.rest.k))
        unary[:, : len(self.places)] = whole[:, self.places]
        return Direction(unary, direction.pairwise[:, self._inside])


def inside(problem: LabelProblem, places: np.ndarray) -> np.ndarray:
    """Return a mask `[e]` of the pairs whose ends are both among some variables."""
    among = np.zeros(problem.n, bool)
    among[places] = True
    first, second = problem.topology.pairs.T
    both: np.ndarray = among[first] & among[second]
    return both


def _reduced(problem: LabelProblem, allowed: LabelProblem, values: np.ndarray) -> LabelEvidence:
    """Return the evidence that all instances share as a smaller problem.

    Args:
        problem: the problem of all variables.
        allowed: the same problem with all other values of known variables forbidden.
        values: `[batch, n]`, -1 for a free variable.
    """
    free = (values == FREE).any(axis=0)
    places = np.flatnonzero(free)
    host = allowed.to_host()
    rows = np.arange(host.batch)
    unary = np.asarray(as_float64(host.unary)).copy()
    fixed = np.flatnonzero(~free)
    constant = unary[rows[:, None], fixed, values[:, fixed]].sum(axis=1)
    # Pairs with a known end become unary scores, or part of the constant.
    for edge in np.flatnonzero(~inside(host, places)).tolist():
        i, j = host.topology.pairs[edge].tolist()
        table = np.broadcast_to(
            host.pairwise(edge), (host.batch, int(host.sizes[i]), int(host.sizes[j]))
        )
        if free[i]:
            unary[:, i, : table.shape[1]] += table[rows, :, values[:, j]]
        elif free[j]:
            unary[:, j, : table.shape[2]] += table[rows, values[:, i]]
        else:
            constant = constant + table[rows, values[:, i], values[:, j]]
    if (constant == -np.inf).any():
        raise InfeasibleError()
    rest = of_the_others(host, unary, places)
    if not isinstance(problem.unary, np.ndarray):
        rest = _on_device(rest, problem)
    return LabelEvidence(problem, rest, values, constant)


def of_the_others(host: LabelProblem, unary: np.ndarray, places: np.ndarray) -> LabelProblem:
    """Return the problem of the variables at some places, or of a constant one without places.

    Args:
        host: the problem of all variables.
        unary: `[batch, n, k]`, their unary scores, including the scores of known values.
        places: `[free]`, the variables to keep.
    """
    # A problem needs at least one variable. A variable of one value adds a score of 0.
    if not len(places):
        alone = np.full((host.batch, 1, host.k), -np.inf)
        alone[..., 0] = 0.0
        topology = Topology(1, np.empty((0, 2), np.int64))
        sizes = np.ones(1, np.int64)
        tables = host.tables[:, :0]
        none = np.empty(0, np.int64)
        return LabelProblem(alone, tables, none, None, sizes, topology, host.leading, host.home)
    within = inside(host, places)
    number = np.zeros(host.n, np.int64)
    number[places] = np.arange(len(places))
    topology = Topology(len(places), number[host.topology.pairs[within]])
    edge_tables = host.edge_tables
    table_of = host.table_of[within]
    if edge_tables is not None:
        edge_tables = tuple(edge_tables[edge] for edge in np.flatnonzero(within).tolist()) or None
    if edge_tables is not None:
        table_of = np.arange(len(edge_tables))
    weights = None
    if host.weights is not None:
        weights = host.weights[:, within]
    return replace(
        host,
        unary=unary[:, places],
        table_of=table_of,
        weights=weights,
        sizes=host.sizes[places],
        topology=topology,
        edge_tables=edge_tables,
    )


def _on_device(rest: LabelProblem, like: LabelProblem) -> LabelProblem:
    """Return a host problem on the device of another problem's scores."""
    weights = rest.weights
    if weights is not None:
        weights = beside(like.unary, weights)
    unary = beside(like.unary, rest.unary)
    return replace(rest, unary=unary, tables=beside(like.unary, rest.tables), weights=weights)
