"""Recognise assignments among constraints, and solve those without pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...limits.deadline import Deadline
from .groups import Groups

QUICK_GROUPS = 120
"""Number of groups up to which an assignment takes so little time that no deadline ends it."""


class Assigned(NamedTuple):
    """The best assignment of a sum over variables, with prices that prove it.

    Attributes:
        z: `[n]`, 1 for the variables that are chosen.
        price: `[g]`, prices of the groups. A variable is worth the prices of its row and its column
            at most, and exactly as much if it is chosen.
    """

    z: np.ndarray
    price: np.ndarray


@dataclass(frozen=True, eq=False)
class Assignment:
    """The rows and columns of an assignment, which are groups of variables.

    Every free variable is the only one in both its row and its column.

    Attributes:
        row: `[n]`, the row of each variable.
        column: `[n]`, its column.
        variable: `[g, g]`, the variable of a row and a column; -1 where there is none.
        is_row: `[g]`, whether a group is a row.
        exact: whether each row and each column needs exactly one 1.
    """

    row: np.ndarray
    column: np.ndarray
    variable: np.ndarray
    is_row: np.ndarray
    exact: bool

    @classmethod
    def of(cls, groups: Groups, free: np.ndarray) -> Assignment | None:
        """Return the assignment that groups make; None for other groups.

        Args:
            groups: the groups.
            free: `[n]`, whether a variable is free.
        """
        member = groups.member
        # A variable has to belong to two groups: its row and its column.
        if not free.any() or (member[:, free].sum(axis=0) != 2).any():
            return None
        count = len(member)
        # The groups of each variable, two by two, in the order of the variables.
        ends = np.nonzero(member[:, free].T)[1].reshape(-1, 2)
        is_row = _two_sides(count, ends)
        if is_row is None:
            return None
        row = np.zeros(len(free), np.int64)
        column = np.zeros(len(free), np.int64)
        first_is_row = is_row[ends[:, 0]]
        row[free] = np.where(first_is_row, ends[:, 0], ends[:, 1])
        column[free] = np.where(first_is_row, ends[:, 1], ends[:, 0])
        variable = np.full((count, count), -1, np.int64)
        variable[row[free], column[free]] = np.flatnonzero(free)
        # Two variables share a cell, so a crossing would be ambiguous.
        if np.count_nonzero(variable >= 0) < np.count_nonzero(free):
            return None
        return cls(row, column, variable, is_row, bool(groups.exact.all()))

    def best(self, worth: np.ndarray, deadline: Deadline) -> Assigned | None:
        """Return an assignment that maximises a sum of `worth [n]` over the chosen variables.

        None if rows may be empty, if there is no assignment, or if the deadline passes while there
        are many rows.
        """
        if len(self.is_row) <= QUICK_GROUPS:
            deadline = Deadline.after(None)
        rows = np.flatnonzero(self.is_row)
        columns = np.flatnonzero(~self.is_row)
        if not self.exact or len(rows) != len(columns):
            return None
        cell = self.variable[np.ix_(rows, columns)]
        cost = np.where(cell >= 0, -worth[cell], np.inf)
        matched = _least_cost(cost, deadline)
        if matched is None:
            return None
        chosen, row_price, column_price = matched
        z = np.zeros(len(self.row), np.int8)
        z[cell[np.arange(len(rows)), chosen]] = 1
        price = np.zeros(len(self.is_row))
        price[rows] = -row_price
        price[columns] = -column_price
        return Assigned(z, price)


def _least_cost(
    cost: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Assign rows to columns at the least cost, by shortest augmenting paths.

    Invariant: cost_ij >= row_price_i + column_price_j, with equality for assigned pairs. Each round
    assigns one more row, along a shortest path in the reduced costs, which are at least 0.

    Args:
        cost: `[k, k]`, infinite for pairs that are excluded.
        deadline: when to give up.

    Returns:
        The column of each row, and the prices of rows and columns; None if there is no assignment
        or the deadline passes.

    References:
        Jonker, Volgenant (1987), A shortest augmenting path algorithm for dense and sparse linear
        assignment problems.
    """
    count = len(cost)
    row_price = np.zeros(count)
    column_price = np.zeros(count)
    row_of = np.full(count, -1)
    column_of = np.full(count, -1)
    for begin in range(count):
        if deadline.passed:
            return None
        distance = np.full(count, np.inf)
        previous = np.full(count, -1)
        done = np.zeros(count, bool)
        reached = [begin]
        row = begin
        length = 0.0
        while True:
            through = length + cost[row] - row_price[row] - column_price
            shorter = ~done & (through < distance)
            distance[shorter] = through[shorter]
            previous[shorter] = row
            column = int(np.where(done, np.inf, distance).argmin())
            if done[column] or not np.isfinite(distance[column]):
                return None  # no free column can be reached
            length = float(distance[column])
            done[column] = True
            if row_of[column] < 0:
                break
            row = int(row_of[column])
            reached.append(row)
        # Prices change so that the path has reduced costs of 0; see the invariant.
        others = np.array(reached[1:], np.int64)
        row_price[begin] += length
        row_price[others] += length - distance[column_of[others]]
        column_price[done] -= length - distance[done]
        # Along the path, every row moves on to the column behind it.
        while True:
            row = int(previous[column])
            behind = int(column_of[row])
            row_of[column] = row
            column_of[row] = column
            column = behind
            if row == begin:
                break
    return column_of, row_price, column_price


# A variable is an edge between its two groups: rows and columns are a 2-colouring.
def _two_sides(count: int, ends: np.ndarray) -> np.ndarray | None:
    """Return whether each group `[count]` is a row; None if the ends of a pair cannot differ."""
    side = np.full(count, -1)
    for begin in range(count):
        if side[begin] >= 0:
            continue
        side[begin] = 0
        reached = [begin]
        while reached:
            group = reached.pop()
            near = ends[(ends == group).any(axis=1)]
            others = np.unique(near[near != group])
            others = others[side[others] < 0]
            side[others] = 1 - side[group]
            reached.extend(others.tolist())
    # An odd cycle of groups has no 2-colouring.
    if (side[ends[:, 0]] == side[ends[:, 1]]).any():
        return None
    return np.asarray(side == 0)
