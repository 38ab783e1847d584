"""What a solution says in the words of the objective that its problem came from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solution import Solution


@dataclass(frozen=True, eq=False)
class Answer:
    """A single solved instance, by name and in the original's own units.

    Attributes:
        assignment: the value of every variable: 0 or 1, -1 or 1 for spins, the side of every node
            of a cut.
        value: the original objective, with its constant.
        bound: no assignment is better: at least the value where the original is maximised, at most
            where it is minimised.
        optimal: whether that is proved, up to rounding.
        solution: as the solver has it.
    """

    assignment: Mapping[Hashable, Any]
    value: float
    bound: float
    optimal: bool
    solution: Solution[np.ndarray]

    @property
    def sides(self) -> tuple[set[Hashable], set[Hashable]]:
        """The variables of the lower value and those of the higher one: the two sides of a cut.

        Example:
            >>> import networkx
            >>> from solvers import solve
            >>> from solvers.conversions import from_networkx
            >>> path = networkx.path_graph(3)
            >>> answer = solve(from_networkx(path, kind="max_cut"))
            >>> answer.value, sorted(map(sorted, answer.sides))
            (2.0, [[0, 2], [1]])
        """
        low: set[Hashable] = set()
        high: set[Hashable] = set()
        for label, value in self.assignment.items():
            (high if value == 1 else low).add(label)
        return low, high
