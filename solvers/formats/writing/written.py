"""Objectives in the form of files, with a fixed sense and possibly without a constant."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...constraints import Constraint
from ...conversions.conversion import Conversion
from ...conversions.terms import Linear, Pairs, Weights
from ...errors import ProblemError

WHOLE = 2.0**53
"""Largest whole number that is written without a decimal point."""


@dataclass(frozen=True)
class Relation:
    """Relation between the objective of a problem and that of the file written from it.

    objective of the problem = constant + sign * objective of the file

    Attributes:
        sign: 1, or -1 if one objective is maximised and the other minimised.
        constant: the constant that the file leaves out.

    Example:
        >>> str(Relation(1, 0.0)), str(Relation(-1, 2.5))
        ('the objective', '2.5 - the objective')
    """

    sign: int
    constant: float

    def value(self, value: float) -> float:
        """Return the objective of the problem, from the objective of the file."""
        return self.constant + self.sign * value

    def __str__(self) -> str:
        if not self.constant:
            if self.sign == 1:
                return "the objective"
            return "the negative of the objective"
        operator = "-"
        if self.sign == 1:
            operator = "+"
        return f"{number(self.constant)} {operator} the objective"


@dataclass(frozen=True, eq=False)
class Terms:
    """Objective constant + sum_i linear_i z_i + sum_(i,j) weights_ij z_i z_j.

    Attributes:
        names: `[n]`.
        sense: 1 if it is maximised, -1 if it is minimised.
        linear: `[n]`.
        pairs: `[e, 2]`, i < j.
        weights: `[e]`.
        constant: a number that is added to the sums.
        constraints: constraints over the places of the variables.
    """

    names: Sequence[Hashable]
    sense: int
    linear: Linear
    pairs: Pairs
    weights: Weights
    constant: float
    constraints: tuple[Constraint, ...]

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.linear)

    def with_sense(self, sense: int) -> Terms:
        """Return the terms of the objective, or of its negative, with this sense."""
        if sense == self.sense:
            return self
        return replace(
            self,
            sense=sense,
            linear=0.0 - self.linear,
            weights=0.0 - self.weights,
            constant=0.0 - self.constant,
        )


def terms_of(conversion: Conversion) -> Terms:
    """Return the objective of a conversion in its own sense.

    Raises:
        ProblemError: the problem is a batch, or has another objective than the original.
    """
    problem = conversion.problem.to_host()
    if problem.leading and problem.batch != 1:
        raise ProblemError(
            f"the problem is a batch of {problem.batch}; a file of this format has one instance"
        )
    original = conversion.original
    # With auxiliary bits, the best states agree and others may not.
    if original is not None and not (conversion.auxiliary or original.is_solved_exactly):
        raise ProblemError(
            "the problem bounds the original objective at some states, as where capacities so "
            "large that they do not matter are capped; it cannot be written as another kind of "
            "problem"
        )
    linear = conversion.sign * problem.unary[0].astype(np.float64)
    weights = conversion.sign * problem.pairwise[0].astype(np.float64)
    added = range(1, problem.n - len(conversion.names) + 1)
    return Terms(
        [*conversion.names, *(f"auxiliary {number}" for number in added)],
        conversion.sign,
        linear + 0.0,
        np.asarray(problem.edges, np.int64).reshape(-1, 2),
        weights,
        conversion.constant,
        conversion.constraints,
    )


def number(value: float) -> str:
    """Write a number so that reading it gives the same float64.

    Example:
        >>> number(3.0), number(0.1)
        ('3', '0.1')
    """
    if value.is_integer() and abs(value) <= WHOLE:
        return str(int(value))
    return repr(float(value))
