"""The best labels of instances under a linear model, each with its optimality certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from solvers import ArgmaxSolver, Solution, labels
from solvers.labels import LabelSolver

from .instances import Group, Instances, Weights

Solver: TypeAlias = "str | LabelSolver | ArgmaxSolver"
"""A solver's name or object, as `solvers.labels.solve` takes it."""

BATCH = 256
"""Maximum number of instances solved in one call, so that the tables of their scores stay small."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best labels of all instances, with their scores and optimality certificates.

    Attributes:
        labels: `[nodes]`, from 0 to k - 1, of all instances one after the other.
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
    away_from: np.ndarray | None = None,
) -> Decoded:
    """Return the best labels of each instance.

    Args:
        instances: the instances to label.
        weights: the model.
        solver: a solver of `solvers.labels`.
        time_limit: seconds for each instance, for solvers that can stop early.
        away_from: true labels `[nodes]` for loss-augmented decoding: every other label scores one
            more at its node. None for plain decoding.

    Raises:
        solvers.SolverError: the solver does not accept the scores.
    """
    unary = weights.unary(instances)
    tables = weights.tables(instances)
    if away_from is not None:
        unary = augmented(unary, away_from)
    decoded = Decoded(
        labels=np.empty(instances.nodes, np.int64),
        score=np.empty(instances.count),
        bound=np.empty(instances.count),
        optimal=np.empty(instances.count, bool),
    )
    for group in instances.groups:
        for batch in group.batches(BATCH):
            solution = solve_group(batch, unary, tables, weights.pairs[0], solver, time_limit)
            decoded.labels[batch.nodes] = solution.labels
            decoded.score[batch.members] = solution.score
            decoded.bound[batch.members] = solution.bound
            decoded.optimal[batch.members] = solution.optimal
    return decoded


def augmented(unary: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Add the Hamming loss to scores: one more for every label but the true one, `[nodes, k]`."""
    scores = unary + 1.0
    scores[np.arange(len(truth)), truth] -= 1.0
    return scores


def solve_group(
    group: Group,
    unary: np.ndarray,
    tables: np.ndarray | None,
    table: np.ndarray,
    solver: Solver,
    time_limit: float | None = None,
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
    """
    limit = None if time_limit is None else time_limit * len(group.members)
    scores: np.ndarray = unary[group.nodes]
    if not len(group.edges):
        return labels.solve(scores, solver=solver, time_limit=limit)
    pairwise: np.ndarray | None = table if tables is None else tables[group.pairs]
    return labels.solve(scores, pairwise, edges=group.edges, solver=solver, time_limit=limit)
