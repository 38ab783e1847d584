"""What problems of every kind have in common for who takes them."""

from __future__ import annotations

from typing import ClassVar, Generic

from .arrays import ArrayT


class AnyProblem(Generic[ArrayT]):
    """A batch of problems of one kind, checked: a `Problem` over bits, or a `LabelProblem`.

    Attributes:
        kind: "bits" or "labels"; which solvers, and which part of the front end, take the problem.
    """

    kind: ClassVar[str]
