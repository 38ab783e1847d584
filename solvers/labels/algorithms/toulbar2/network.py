"""Write whole scores as a cost function network in toulbar2's wcsp format.

The network minimises cost(x) = constant - score(x).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....limits.deadline import Deadline
from ..dual_ascent.graph import IMPOSSIBLE
from ..whole_scores import WholeScores

AT_ONCE = 100
"""Number of functions that are written between two checks of the time."""

FORBIDS = "top"
"""Placeholder of forbidden costs until the top is known."""


class Costs(NamedTuple):
    """Costs of a function, without its variables.

    Attributes:
        best: the score at which the cost is zero.
        most: the largest cost of an allowed tuple.
        text: the default cost, the number of exceptions, and one line for each exception.
    """

    best: int
    most: int
    text: str


def write_network(scores: WholeScores, path: Path, deadline: Deadline) -> int | None:
    """Write the costs of an instance and return the constant, or None if time runs out.

    No cost is negative. Their sum is below the top, and costs at or above the top forbid.
    """
    constant = 0
    top = 1
    functions = list[str]()
    for number, (scope, costs) in enumerate(_functions(scores)):
        # Costs are differences from the best score of a function, so none is negative.
        constant = constant + costs.best
        # The top exceeds the sum of the largest allowed costs, hence the cost of any allowed state.
        top = top + costs.most
        functions.append(f"{scope} {costs.text}")
        if number % AT_ONCE == 0 and deadline.passed:
            return None
    n, k = scores.unary.shape
    with path.open("w", encoding="ascii") as file:
        file.write(
            f"problem {n} {k} {len(functions)} {top}\n{' '.join(map(str, scores.sizes.tolist()))}\n"
        )
        # The top is known only now, so forbidden values carry a placeholder until here.
        file.writelines(function.replace(FORBIDS, str(top)) for function in functions)
    return constant


def _functions(scores: WholeScores) -> Iterator[tuple[str, Costs]]:
    """Yield the number and list of variables of each function, with the costs of their values."""
    for i, size in enumerate(scores.sizes.tolist()):
        yield f"1 {i}", _listed(scores.unary[i, :size])
    pairs, table_of, tables, weights = scores.tables

    @cache  # edges share tables and weights
    def costs_of(which: int, few: int, many: int) -> Costs:
        if len(weights):
            return _of_weight(which, min(few, many))
        return _listed(tables[which, :few, :many])

    which = table_of.tolist()
    if len(weights):
        which = weights.tolist()
    sizes = scores.sizes[pairs].tolist()
    for table, (i, j), (few, many) in zip(which, pairs.tolist(), sizes, strict=True):
        yield f"2 {i} {j}", costs_of(table, few, many)


def _listed(table: np.ndarray) -> Costs:
    allowed = table > IMPOSSIBLE
    best = 0
    if allowed.any():
        best = int(table[allowed].max())
    # -1 stands for a forbidden value until the lines are written.
    costs = np.where(allowed, best - np.where(allowed, table, 0), -1)
    # A wcsp file lists exceptions from a default cost, here 0.
    values = np.argwhere(costs != 0)
    listed = costs[tuple(values.T)]
    rows = np.concatenate([values, listed[:, None]], axis=1)
    lines = (" ".join(["%d"] * rows.shape[1]) + "\n") * len(rows) % tuple(rows.ravel().tolist())
    return Costs(
        best, int(costs.max(initial=0)), f"0 {len(rows)}\n{lines.replace(' -1', f' {FORBIDS}')}"
    )


def _of_weight(weight: int, values: int) -> Costs:
    best = max(weight, 0)
    lines = "".join(f"{a} {a} {best - weight}\n" for a in range(values))
    return Costs(best, max(best, best - weight), f"{best} {values}\n{lines}")
