"""The spaces of permutations, assignments and matchings of two sides."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch

from ..errors import MissingPackageError, StructureError
from ..transforms import refuse_transforms
from .checks.batches import checked, positive_integer, shaped
from .space import StateSpace


@dataclass(frozen=True)
class _TwoSides(StateSpace):
    """A space of pairs of rows and columns, as z `[rows columns]`."""

    name: ClassVar[str]

    rows: int
    columns: int | None = None

    def __post_init__(self) -> None:
        positive_integer(self.rows, "rows")
        if self.columns is not None:
            positive_integer(self.columns, "columns")
        if importlib.util.find_spec("scipy") is None:
            raise MissingPackageError(
                "assignments need scipy: pip install 'structured-vae[assignments]'"
            )

    @classmethod
    def of_options(cls, n: int, **options: int) -> Self:
        """Return the space of so many rows; by default of as many as columns.

        Raises:
            StructureError: n is not rows times columns.
        """
        rows = options.get("rows") or math.isqrt(n)
        columns = options.get("columns") or max(n // max(rows, 1), 1)
        if rows * columns != n or (not options and rows != columns):
            raise StructureError(
                f"n must be rows times columns, such as 25 for 5 rows; got n = {n}, rows = "
                f"{options.get('rows', 0)}"
            )
        return cls(rows, columns)

    @property
    def arguments(self) -> dict[str, int | str]:
        """The name of the space, its rows, and its columns where they are not as many."""
        named: dict[str, int | str] = {"space": self.name, "rows": self.rows}
        if self.columns is not None:
            named["columns"] = self.columns
        return named

    @property
    def _shape(self) -> tuple[int, int]:
        rows = int(self.rows)
        if self.columns is None:
            return rows, rows
        return rows, int(self.columns)

    def _flat(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the checked scores `[batch, rows columns]`."""
        refuse_transforms(f"{type(self).__name__}.argmax", "call ArgmaxLayer(structure, seed=None)")
        rows, columns = self._shape
        return checked(scores, rows * columns)

    def _assigned(self, scores: torch.Tensor) -> torch.Tensor:
        """Return an assignment of highest score of each instance, `[batch, rows columns]`."""
        solve = _solver()
        z = np.zeros((len(scores), *self._shape))
        for instance, values in zip(z, scores.detach().cpu().numpy().reshape(z.shape), strict=True):
            instance[solve(values, maximize=True)] = 1
        return torch.from_numpy(z.reshape(scores.shape)).to(scores)


@dataclass(frozen=True)
class Assignments(_TwoSides):
    """The assignments that pair each member of the smaller side with a different one of the larger.

    With as many rows as columns they are permutations. z `[rows columns]` is one at
    row * columns + column where row and column are paired. The argmax is a linear sum assignment by
    scipy, in O(rows^2 columns), one instance after the other on the host. There is no `gibbs`: Z is
    a permanent, which is #P-hard (Valiant 1979).

    Args:
        rows: number of members of one side, at least 1.
        columns: number of members of the other side; None for as many as rows.

    Raises:
        StructureError: rows or columns is not an integer of at least 1.
        MissingPackageError: scipy is not installed.

    References:
        Crouse (2016), On implementing 2D rectangular assignment algorithms.

    Example:
        >>> Assignments(2).argmax(torch.tensor([[1.0, 2.0, 3.0, 5.0]])).reshape(2, 2)
        tensor([[1., 0.],
                [0., 1.]])
    """

    name: ClassVar[str] = "assignment"

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of injections of the smaller side into the larger."""
        self.check(n)
        small, large = sorted(self._shape)
        return math.lgamma(large + 1) - math.lgamma(large - small + 1)

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return assignments `[count, n]`, each drawn with equal probability.

        The noise of all pairs has the same distribution, so no assignment is preferred.
        """
        noise = torch.rand((count, n), generator=generator, device=like.device, dtype=like.dtype)
        return self.argmax(noise)

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return an assignment of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, where n is rows * columns.

        Raises:
            StructureError: `scores` is not a tensor of scores of that shape, or forbids every
                assignment of an instance.
        """
        return shaped(self._assigned(self._flat(scores)), scores, self)


@dataclass(frozen=True)
class Matchings(_TwoSides):
    """The matchings of two sides: each member is in at most one pair.

    z `[rows columns]` is one at row * columns + column where row and column are paired. The argmax
    is an assignment of the positive parts of the scores; pairs of score zero or less are then left
    out, since they are no better than no pair. There is no `gibbs`, as for `Assignments`.

    Args:
        rows: number of members of one side, at least 1.
        columns: number of members of the other side; None for as many as rows.

    Raises:
        StructureError: rows or columns is not an integer of at least 1.
        MissingPackageError: scipy is not installed.

    Example:
        >>> Matchings(2).argmax(torch.tensor([[1.0, -2.0, 3.0, 1.0]])).reshape(2, 2)
        tensor([[0., 0.],
                [1., 0.]])
    """

    name: ClassVar[str] = "matching"

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of matchings of all sizes."""
        self.check(n)
        rows, columns = self._shape
        sizes = range(min(rows, columns) + 1)
        counts = (math.comb(rows, m) * math.comb(columns, m) * math.factorial(m) for m in sizes)
        return math.log(sum(counts))

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a matching of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, where n is rows * columns.

        Raises:
            StructureError: `scores` is not a tensor of scores of that shape.
        """
        flat = self._flat(scores)
        return shaped(self._assigned(flat.clamp_min(0)) * (flat > 0), scores, self)


def _solver() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    from scipy.optimize import linear_sum_assignment  # optional

    solve: Callable[..., tuple[np.ndarray, np.ndarray]] = linear_sum_assignment
    return solve
