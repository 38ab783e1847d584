"""The best labels of instances under a linear model, each with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from solvers import ArgmaxSolver, Solution, labels
from solvers.labels import LabelSolver

from .instances import Group, Instances, Weights

Solver: TypeAlias = "str | LabelSolver | ArgmaxSolver"
"""A name or an object, as `solvers.labels.solve` takes them."""

BATCH = 256
"""Instances that are solved in one call, so that tables of their scores stay small."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best labels of all instances.

    Attributes:
        labels: `[places]`, from 0 to k - 1.
        score: `[instances]`.
        bound: `[instances]`: no labels score more.
        optimal: `[instances]`, whether it is proved that no labels score more than these.
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
    """The best labels of each instance.

    Args:
        instances: what to label.
        weights: the model.
        solver: of `solvers.labels`.
        time_limit: seconds for each instance, for solvers that can stop early.
        away_from: `[places]`, labels: every other label scores one more at its place. None for the
            scores alone.

    Raises:
        solvers.SolverError: the solver cannot take the scores.
    """
    unary, tables = weights.unary(instances), weights.tables(instances)
    if away_from is not None:
        unary = augmented(unary, away_from)
    found = np.empty(instances.places, np.int64)
    score, bound = np.empty(instances.count), np.empty(instances.count)
    optimal = np.empty(instances.count, bool)
    for group in instances.groups:
        for part in group.batches(BATCH):
            solution = solve_group(part, unary, tables, weights.pairs[0], solver, time_limit)
            found[part.places], score[part.members] = solution.labels, solution.score
            bound[part.members], optimal[part.members] = solution.bound, solution.optimal
    return Decoded(found, score, bound, optimal)


def augmented(unary: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """`[places, k]`: one more for every label but the true one, so that scores count the labels that differ."""
    further = unary + 1.0
    further[np.arange(len(truth)), truth] -= 1.0
    return further


def solve_group(
    group: Group,
    unary: np.ndarray,
    tables: np.ndarray | None,
    table: np.ndarray,
    solver: Solver,
    time_limit: float | None = None,
) -> Solution[np.ndarray]:
    """One batch.

    Args:
        group: its instances.
        unary: `[places, k]`, of all instances.
        tables: `[pairs, k, k]`, of all instances; None where all have `table`.
        table: `[k, k]`.
        solver: of `solvers.labels`.
        time_limit: seconds for each instance.
    """
    limit = None if time_limit is None else time_limit * len(group.members)
    own: np.ndarray = unary[group.places]
    if not len(group.edges):
        return labels.solve(own, solver=solver, time_limit=limit)
    pairwise: np.ndarray | None = table if tables is None else tables[group.pairs]
    return labels.solve(own, pairwise, edges=group.edges, solver=solver, time_limit=limit)
