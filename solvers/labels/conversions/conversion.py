"""Define label problems that were converted from another convention.

A conversion translates solutions back to the names and the objective of the original.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import as_array, to_numpy
from ...constraints import Constraint
from ...conversions.any_conversion import AnyConversion
from ...conversions.objective import folding_error, sums_are_exact
from ...decimals import decimal_of
from ...errors import OptionError, ProblemError, shortened
from ..problem import LabelProblem


@dataclass(frozen=True, eq=False)
class LabelConversion(AnyConversion[LabelProblem[np.ndarray]]):
    """Label problem with the names, values and objective of its original.

    original objective(x) = constant + sign * score(x)

    Attributes:
        problem: the problem to solve; after the original's variables come the variables that
            represent factors of three or more variables.
        sign: 1 if the original is maximised, -1 if it is minimised.
        constant: the original objective at a score of zero.
        names: the original's names of its variables.
        values: the original's values of each variable.
        original: the objective as a sum of the original's terms; None for
            constant + sign * score(x).
        loose: number of the problem's last variables that the others do not determine.

    Example:
        >>> from solvers.labels import from_factors, solve
        >>> table = np.arange(6.0).reshape(2, 3)
        >>> vote = from_factors([2, 3], [((0, 1), table)], names=["coat", "shoe"])
        >>> answer = solve(vote)
        >>> answer.assignment, answer.value, answer.optimal
        ({'coat': 1, 'shoe': 2}, 5.0, True)
    """

    values: Sequence[Sequence[Hashable]]
    loose: int = 0

    def why_not_counted(self) -> str | None:
        """Return why the problem's states do not correspond one to one to the original's."""
        if not self.loose:
            return None
        return (
            f"{self.loose} soft constraints have auxiliary variables, and states that differ in "
            "them alone would count several times; write the constraints as terms of the objective"
        )

    def labels(self, assignment: Mapping[Hashable, Hashable]) -> dict[int, int]:
        """Return {variable: value} by the original's names; the former name of `states`.

        Raises:
            OptionError: an unknown name, or a value that the variable does not have.
        """
        message = "LabelConversion.labels is now states; the next release removes the old name"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.states(assignment)

    def _columns(
        self, constraint: Constraint, name: Any, number: float
    ) -> Iterator[tuple[Any, float]]:
        """Yield (place, state) and coefficients of (name, value), or of the values of a name."""
        if isinstance(name, tuple) and isinstance(name[0], str):
            place = self._place_of(constraint, name[0])
            yield (place, self._state_of(place, name[1])), number
        elif isinstance(name, str) and not constraint.counts:
            place = self._place_of(constraint, name)
            for state, value in enumerate(self.values_of(place)):
                if not isinstance(value, int | float | np.number):
                    raise OptionError(
                        f"{constraint.name} adds up the values of {shortened(name)}, and "
                        f"{shortened(value)} is no number; name a value: ({name!r}, {value!r})"
                    )
                yield (place, state), float(decimal_of(number) * decimal_of(value))
        else:
            yield from super()._columns(constraint, name, number)

    @cached_property
    def _rounding(self) -> float:
        if self.original is None:
            return 0.0
        folding = folding_error(self.original)
        if sums_are_exact(self.original.coefficients()):
            return folding
        return folding + float(self.problem.rounding[0])

    def values_of(self, place: int) -> Sequence[Hashable]:
        """Return the original's values of a variable."""
        return self.values[place]

    def _score_terms(self, z: Any) -> np.ndarray:
        """Return the score as the only term."""
        return np.array([float(self.problem.score(z))])

    def _states_of(self, z: Any) -> np.ndarray:
        """Return the states `[n]` of the original variables, without those of added variables."""
        labels = to_numpy(as_array(z, "labels"))
        if labels.shape not in ((len(self.names),), (self.problem.n,)):
            raise ProblemError(f"labels must be [{self.problem.n}]; their shape is {labels.shape}")
        states = labels[: len(self.names)]
        sizes = self.problem.sizes[: len(states)]
        if states.dtype.kind not in "iu" or not ((states >= 0) & (states < sizes)).all():
            raise ProblemError(f"labels must be values of their variables; got {shortened(z)}")
        return states

    def _whole(self, states: list[int]) -> list[int]:
        """Return the values of the original's variables and of variables that represent factors.

        The value of such a variable agrees with the variables in its scope. If no value does, the
        states are forbidden for any value.
        """
        whole = [*states]
        pairs = self.problem.topology.pairs
        for stand_in in range(len(states), self.problem.n):
            agrees = np.ones(int(self.problem.sizes[stand_in]), bool)
            for edge in np.flatnonzero((pairs[:, 1] == stand_in) & (pairs[:, 0] < len(states))):
                row = self.problem.pairwise(int(edge))[0, states[pairs[edge, 0]]]
                agrees &= row > -np.inf
            whole.append(int(agrees.argmax()))
        return whole
