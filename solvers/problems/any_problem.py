"""Base of problems of every kind."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from ..arrays import ArrayT
from ..errors import ProblemError, shortened


class AnyProblem(Generic[ArrayT]):
    """Checked batch of problems of one kind: a `Problem` over bits, or a `LabelProblem`.

    Attributes:
        kind: "bits" or "labels"; it decides which solvers, and which part of the front end, take
            the problem.
    """

    kind: ClassVar[str]

    @property
    def batch(self) -> int:
        """Number of instances."""
        raise NotImplementedError

    @property
    def n(self) -> int:
        """Number of variables of an instance."""
        raise NotImplementedError

    @property
    def e(self) -> int:
        """Number of pairs of an instance."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch={self.batch}, n={self.n}, e={self.e})"

    @property
    def is_empty(self) -> bool:
        """Whether there are no instances or no variables."""
        return not self.batch or not self.n


def check_kind(problem: object, kind: type[AnyProblem[Any]]) -> None:
    """Raise if `problem` is not of a kind, for example if it is an array or a conversion.

    Args:
        problem: any object.
        kind: `Problem` or `LabelProblem`.

    Raises:
        ProblemError: it is not.
    """
    if isinstance(problem, kind):
        return
    hint = ""
    if isinstance(getattr(problem, "problem", None), kind):
        hint = "; pass its .problem"
    raise ProblemError(
        f"expected a {kind.__name__}, made by {kind.__name__}.from_arrays(unary, pairwise); got "
        f"{shortened(problem)}{hint}"
    )
