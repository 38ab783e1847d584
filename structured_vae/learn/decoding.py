"""The best labels of instances under a linear model, each with its optimality certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from solvers import ArgmaxSolver, Solution, labels
from solvers.labels import LabelSolver

from .instances import Group, Instances, Weights
from .scope import EVERYTHING, Scope

Solver: TypeAlias = "str | LabelSolver | ArgmaxSolver"
"""A solver's name or object, as `solvers.labels.solve` takes it."""

BATCH = 256
"""Maximum number of instances solved in one call, so that the tables of their scores stay small."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best labels of all instances, with their scores and optimality certificates.

    With `k_best` all arrays have one more dimension in front, and the best labels come first.

    Attributes:
        labels: `[nodes]`, from 0 to k - 1, of all instances one after the other; -1 in rows beyond
            the last allowed labels.
        score: `[instances]`, the score of these labels.
        bound: `[instances]`, an upper bound on the score of any labels.
        optimal: `[instances]`, True if these labels are proved to have the maximum score.
    """

    labels: np.ndarray
    score: np.ndarray
    bound: np.ndarray
    optimal: np.ndarray


def decode(
    instances: Instances,
    weights: Weights,
    solver: Solver = "auto",
    time_limit: float | None = None,
    loss: HammingLoss | None = None,
    scope: Scope = EVERYTHING,
    k_best: int | None = None,
) -> Decoded:
    """Return the best labels of each instance.

    Args:
        instances: the instances to label.
        weights: the model.
        solver: a solver of `solvers.labels`.
        time_limit: seconds for each instance, for solvers that can stop early.
        loss: the loss to add, for loss-augmented decoding; None for plain decoding.
        scope: which labels count.
        k_best: how many of the best labels to return; None for the best alone.

    Raises:
        solvers.SolverError: the solver does not accept the scores.
    """
    unary = weights.unary(instances)
    tables = weights.tables(instances)
    # The loss is a sum over nodes, so adding it only shifts unary scores.
    if loss is not None:
        unary = loss.augmented(unary)
    unary = scope.unary(instances, unary)
    table = scope.table(weights.pairs[0])
    ranks = 1
    if k_best is not None:
        ranks = k_best
    decoded = Decoded(
        labels=np.empty((ranks, instances.nodes), np.int64),
        score=np.empty((ranks, instances.count)),
        bound=np.empty((ranks, instances.count)),
        optimal=np.empty((ranks, instances.count), bool),
    )
    for group in instances.groups:
        for batch in group.batches(BATCH):
            solution = solve_group(batch, unary, tables, table, solver, time_limit, ranks)
            decoded.labels[:, batch.nodes] = np.moveaxis(solution.labels, 1, 0)
            decoded.score[:, batch.members] = solution.score.T
            decoded.bound[:, batch.members] = solution.bound.T
            decoded.optimal[:, batch.members] = solution.optimal.T
    if k_best is None:
        return Decoded(decoded.labels[0], decoded.score[0], decoded.bound[0], decoded.optimal[0])
    return decoded


@dataclass(frozen=True, eq=False)
class HammingLoss:
    """The number of wrong labels, weighted by node.

    Attributes:
        truth: `[nodes]`, the true labels.
        weights: `[nodes]`, what a wrong label costs.
    """

    truth: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, truth: np.ndarray, weights: np.ndarray | None = None) -> HammingLoss:
        """Make the loss of true labels `[nodes]`; every wrong label costs 1 without weights."""
        if weights is None:
            weights = np.ones(len(truth))
        return cls(truth, weights)

    def at(self, nodes: np.ndarray) -> HammingLoss:
        """Return the loss of some nodes `[m]`."""
        return HammingLoss(self.truth[nodes], self.weights[nodes])

    def augmented(self, unary: np.ndarray) -> np.ndarray:
        """Add the loss to scores `[nodes, k]`: its weight for every label but the true one."""
        scores: np.ndarray = unary + self.weights[:, None]
        scores[np.arange(len(self.truth)), self.truth] -= self.weights
        return scores

    def __call__(self, labels: np.ndarray) -> float:
        """Return the loss of labels `[nodes]`."""
        return float(self.weights[labels != self.truth].sum())


def solve_group(
    group: Group,
    unary: np.ndarray,
    tables: np.ndarray | None,
    table: np.ndarray,
    solver: Solver,
    time_limit: float | None = None,
    k_best: int = 1,
) -> Solution[np.ndarray]:
    """Return the best labels of one batch of instances that share their edges.

    Args:
        group: the instances.
        unary: `[nodes, k]`, the unary scores of all instances.
        tables: `[pairs, k, k]`, the pairwise scores of all instances; None if all edges share
            `table`.
        table: `[k, k]`, the pairwise scores that all edges share.
        solver: a solver of `solvers.labels`.
        time_limit: seconds for each instance.
        k_best: how many of the best labels to return; the arrays of the solution are
            `[batch, k_best, ...]`.
    """
    # The limit is for one instance, and the solver takes all of the group at once.
    limit = None
    if time_limit is not None:
        limit = time_limit * len(group.members)
    scores: np.ndarray = unary[group.nodes]
    options: dict[str, Any] = {"solver": solver, "time_limit": limit}
    if k_best > 1:
        options["k_best"] = k_best
    if not len(group.edges):
        solution = labels.solve(scores, **options)
    else:
        pairwise: np.ndarray | None = table
        if tables is not None:
            pairwise = tables[group.pairs]
        solution = labels.solve(scores, pairwise, edges=group.edges, **options)
    if k_best > 1:
        return solution
    # Labels of a single rank get the axis of ranks, too.
    return replace(
        solution,
        z=solution.z[:, None],
        score=solution.score[:, None],
        bound=solution.bound[:, None],
        optimal=solution.optimal[:, None],
    )
