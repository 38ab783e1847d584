"""Encode a problem over labels as a problem over bits: the domain-wall encoding.

A variable of s values has the bits b_0 >= b_1 >= ... >= b_(s-2), b_a = [label > a]. Any table is
then the sum of a constant, a score for each bit of either end, and a score for each pair of their
bits. The score of a pair is the second difference D[a, b] = T[a+1, b+1] - T[a+1, b] - T[a, b+1] +
T[a, b]. If no second difference is negative, the problem over bits is a minimum cut.

Each place at which the bits of a variable do not descend costs as much as all other scores of its
bits together can gain. So making them descend, in any way, loses nothing, and the two problems have
the same maximum.

References:
    Ishikawa (2003), Exact optimization for Markov random fields with convex priors.
    Schlesinger and Flach (2006), Transforming an arbitrary minsum problem into a binary one.
    Chancellor (2019), Domain wall encoding of discrete variables for quantum annealing and QAOA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import NUMPY, Scores, States
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import EPSILON, Problem
from ...problems.topology import Topology
from ..problem import LabelProblem

if TYPE_CHECKING:
    from jaxtyping import Float

BLOCK_ENTRIES = 1 << 18
"""Entries of tables between two looks at the deadline, in all instances together."""

SECONDS_A_PAIR = 2.5e-7
"""Approximate seconds per pair of bits after all pairs are written: walls, and a sort."""

LEAST_SECONDS = 0.01
"""Seconds of this work that a deadline does not end, as it does not end the first block.

So small problems are always encoded.
"""


@dataclass(frozen=True, eq=False)
class DomainWall:
    """Batch of label problems, encoded as a batch of problems over bits.

    Attributes:
        problem: the problem over bits.
        constant: `[batch]`, the difference between scores of labels and scores of their bits.
        starts: `[n + 1]`, the first bit of each variable.
        least: `[batch]`, a number below every allowed score and above the scores of forbidden
            assignments.
        rounding: `[batch]`, the maximum rounding error between scores of bits and of labels.
        tolerance: `[batch]`, the maximum gap between a bound by bits and a score of labels that
            counts as proved. It is far below `rounding`, which walls and forbidden pairs make
            large. A search that ends within `rounding` of its bound may have missed better labels.
    """

    problem: Problem[np.ndarray]
    constant: Scores
    starts: np.ndarray
    least: Scores
    rounding: Scores
    tolerance: Scores

    def labels(self, z: States) -> States:
        """Return labels `[batch, n]` that score no less than their bits `[batch, bits]`."""
        sums = np.concatenate(
            [np.zeros((len(z), 1), np.int64), np.cumsum(z, axis=1, dtype=np.int64)], axis=1
        )
        return np.diff(sums[:, self.starts], axis=1)

    def bound(self, bound: Scores, rows: slice | np.ndarray = slice(None)) -> Scores:
        """Return `[batch]` bounds on scores of labels, from bounds on scores of bits.

        The bound is minus infinity where it excludes every allowed assignment.
        """
        total = bound + self.constant[rows]
        return np.where(total < self.least[rows], -np.inf, total)

    def known(self, incumbent: Known) -> Known:
        """Return the incumbent and bound of the labels, from those of the bits."""
        z, bound, rows = incumbent
        labels = None
        if z is not None:
            labels = self.labels(z)
        total = None
        if bound is not None:
            total = self.bound(bound, rows)
        return Known(labels, total, rows)


def bits_of(labels: np.ndarray, problem: LabelProblem) -> np.ndarray:
    """Return the bits `[batch, bits]` that encode labels `[batch, n]`.

    The code of a label a is a ones, followed by zeros.
    """
    variable = np.repeat(np.arange(problem.n), problem.sizes - 1)
    first = np.cumsum(problem.sizes - 1) - (problem.sizes - 1)
    place = np.arange(len(variable)) - first[variable]
    bits: np.ndarray = place < labels[:, variable]
    return bits.astype(np.int8)


def domain_wall(problem: LabelProblem, deadline: Deadline | None = None) -> DomainWall | None:
    """Encode a problem on the host as a problem over bits; None if the deadline passes first."""
    until = deadline or Deadline.after(None)
    starts = np.concatenate([[0], np.cumsum(problem.sizes - 1)])
    forbidden = forbidden_score(problem)
    values = allowed_scores(problem.unary, forbidden)
    # With all bits at 0, every variable has its first value.
    constant = values[:, :, 0].sum(axis=1)
    # Bit b raises the value from b to b + 1, so its score is the difference of their scores.
    unary = np.diff(values, axis=2)
    pairs = [np.zeros((0, 2), np.int64)]
    weights = [np.empty((problem.batch, 0))]
    if problem.e:
        for block, scores in problem.pairwise_blocks(BLOCK_ENTRIES // problem.batch):
            if block.start and until.passed:
                return None
            tables = allowed_scores(np.broadcast_to(scores, _full(problem, scores)), forbidden)
            ends = problem.topology.pairs[block].T
            constant = constant + tables[:, :, 0, 0].sum(axis=1)
            for end, first in zip(ends, (tables[:, :, :, 0], tables[:, :, 0, :]), strict=True):
                np.add.at(unary.swapaxes(0, 1), end, np.diff(first, axis=2).swapaxes(0, 1))
            # The bits of a pair score second differences, which
            # are 0 where a table is a sum of a row and a column.
            differences = np.diff(np.diff(tables, axis=2), axis=3)
            used = (differences != 0).any(axis=0) & _within(problem, ends)
            edge, a, b = np.nonzero(used)
            pairs.append(np.stack([starts[ends[0, edge]] + a, starts[ends[1, edge]] + b], axis=1))
            weights.append(differences[:, used])
    joined = np.concatenate(pairs)
    if SECONDS_A_PAIR * len(joined) > max(LEAST_SECONDS, until.left):
        return None
    return _joined(problem, starts, unary, np.concatenate(weights, axis=1), joined, constant)


def _joined(
    problem: LabelProblem,
    starts: np.ndarray,
    unary: np.ndarray,
    weights: np.ndarray,
    pairs: np.ndarray,
    constant: Scores,
) -> DomainWall:
    """Return the problem over bits, with walls and with its pairs in order.

    Args:
        problem: the problem over labels.
        starts: `[n + 1]`, the first bit of each variable.
        unary: `[batch, n, k - 1]`, the scores of single bits.
        weights: `[batch, pairs]`, the scores of pairs of bits.
        pairs: `[pairs, 2]`.
        constant: `[batch]`, the score of the first values.
    """
    forbidden = forbidden_score(problem)
    variable = np.repeat(np.arange(problem.n), problem.sizes - 1)
    places = np.arange(starts[-1]) - starts[variable]
    flat, walls, costs = _with_walls(problem, starts, unary[:, variable, places], weights, pairs)
    every = np.concatenate([pairs, walls])
    scores = np.concatenate([weights, costs], axis=1)
    # The pairs of an edge are in order already, so this sort is quicker than one of two columns.
    order = np.argsort(every[:, 0] * starts[-1] + every[:, 1], kind="stable")
    topology = Topology(int(starts[-1]), every[order])
    binary = Problem(
        flat, np.ascontiguousarray(scores[:, order]), topology, (problem.batch,), NUMPY
    )
    rounding = 2 * binary.rounding + problem.rounding
    tolerance = problem.rounding + 64 * EPSILON * binary.magnitude
    # The tolerance must stay below a unit of the labels' scores.
    confused = problem.tolerance < problem.rounding_of_sums
    tolerance = np.where(confused, problem.tolerance, tolerance)
    return DomainWall(binary, constant, starts, forbidden / 2, rounding, tolerance)


def pairs_of_bits(problem: LabelProblem) -> int:
    """Return how many pairs of bits the edges of one instance join."""
    bits = problem.sizes[problem.edges] - 1
    return int(bits.prod(axis=1, dtype=np.int64).sum())


def _full(problem: LabelProblem, tables: np.ndarray) -> tuple[int, ...]:
    return problem.batch, *tables.shape[1:]


def forbidden_score(problem: LabelProblem) -> Scores:
    """Return the scores `[batch]` that replace minus infinity in problems over bits.

    Allowed states differ by at most 2 magnitudes, so a forbidden score is worse than any of them.
    """
    return -3 * np.where(problem.magnitude > 0, problem.magnitude, 1.0)


def allowed_scores(scores: np.ndarray, forbidden: Scores) -> Float[np.ndarray, "batch ..."]:
    """Return float64 scores, with minus infinity replaced by a penalty above all other scores."""
    values = np.asarray(scores, np.float64)
    return np.where(np.isinf(values), forbidden.reshape(-1, *[1] * (values.ndim - 1)), values)


def _within(problem: LabelProblem, ends: np.ndarray) -> np.ndarray:
    """Return `[edges, k - 1, k - 1]`: whether both ends have the values of a second difference.

    Args:
        problem: a problem.
        ends: `[2, edges]`, the variables of some edges.
    """
    has = np.arange(problem.k - 1) < (problem.sizes - 1)[:, None]
    within: np.ndarray = has[ends[0]][:, :, None] & has[ends[1]][:, None, :]
    return within


def _with_walls(
    problem: LabelProblem,
    starts: np.ndarray,
    unary: np.ndarray,
    weights: np.ndarray,
    pairs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Penalise bits that are 1 where the preceding bit of their variable is 0.

    Returns:
        The unary scores with the penalties, and the added pairs with their scores.
    """
    variable = np.repeat(np.arange(problem.n), problem.sizes - 1)
    total = np.zeros((problem.n, problem.batch))
    # A forbidden pair of bits of one variable gains at most this for any state.
    np.add.at(total, variable, np.abs(unary).T)
    for end in pairs.T:
        np.add.at(total, variable[end], np.abs(weights).T)
    first = np.flatnonzero(variable[1:] == variable[:-1])
    costs = total[variable[first]].T
    unary = unary.copy()
    # cost (previous - 1) next: the cost is paid if `next` is 1 and `previous` is 0.
    unary[:, first + 1] -= costs
    return unary, np.stack([first, first + 1], axis=1), costs
