"""Base of problems of every kind."""

from __future__ import annotations

from typing import ClassVar, Generic

from ..arrays import ArrayT


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
