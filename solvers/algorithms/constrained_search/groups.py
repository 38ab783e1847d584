"""Recognise constraints that allow at most one, or exactly one, variable of a group to be 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .linear_rows import FREE, LinearRows

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of free variables of which at most one is 1.

    Attributes:
        member: `[g, n]`, whether a variable belongs to a group.
        exact: `[g]`, whether exactly one variable of a group is 1.
        row: `[g]`, the constraint that says so.
    """

    member: Bool[np.ndarray, "g n"]
    exact: Bool[np.ndarray, "g"]
    row: Int[np.ndarray, "g"]

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, rows: LinearRows, values: np.ndarray) -> Groups:
        """Return the groups of constraints.

        Args:
            rows: the constraints.
            values: `[n]`, the values of fixed variables, -1 for free ones.
        """
        members: list[np.ndarray] = []
        exact: list[bool] = []
        numbers: list[int] = []
        # Fixed ones use up the limits: a group counts what is left for free variables.
        fixed = rows.activity(np.where(values == FREE, 0, values))
        ends = np.searchsorted(rows.row, np.arange(len(rows.low) + 1))
        for number in range(len(rows.low)):
            entries = slice(ends[number], ends[number + 1])
            free = values[rows.column[entries]] == FREE
            columns = rows.column[entries][free]
            weights = rows.weight[entries][free]
            if len(columns) < 2 or (weights != 1).any():
                continue
            # `LinearRows` has divided by common factors, so that such a weight is 1.
            least = rows.low[number] - fixed[number]
            # Only "at most one more" makes two members exclude each other.
            if rows.high[number] - fixed[number] != 1:
                continue
            members.append(np.isin(np.arange(rows.n), columns))
            exact.append(least == 1)
            numbers.append(number)
        member = np.array(members, bool).reshape(len(members), rows.n)
        return cls(member, np.array(exact, bool), np.array(numbers, np.int64))

    def among(self, free: Int[np.ndarray, "m"]) -> Groups:
        """Return the same groups over some of the variables, which have all members."""
        return Groups(self.member[:, free], self.exact, self.row)

    def exclusive(self) -> Bool[np.ndarray, "n n"]:
        """Return whether two variables share a group; a variable shares one with itself."""
        member = self.member.astype(np.float32)
        return np.asarray(member.T @ member > 0)
