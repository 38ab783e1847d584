"""The spaces of permutations, assignments and matchings of two sides."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar, Self

import numpy as np
import torch

from ..autograd.recording import between_graphs, construct_between_graphs
from ..autograd.transforms import refuse_transforms
from ..errors import MissingPackageError, StructureError, shortened
from ..noise import random_numbers
from .checks.batches import checked, integers, positive_integer, shaped
from .checks.counts import check_batch
from .checks.scores import masked
from .listing import in_order
from .space import StateSpace


@dataclass(frozen=True)
class _TwoSides(StateSpace):
    """A space of pairs of rows and columns, as z `[rows columns]`."""

    name: ClassVar[str]

    single: ClassVar[bool]
    """Whether a member of the smaller side may be in no pair."""

    rows: int
    columns: int | None = None
    sizes: tuple[tuple[int, int], ...] | torch.Tensor | Sequence[Sequence[int]] | None = None

    def __post_init__(self) -> None:
        construct_between_graphs()
        positive_integer(self.rows, "rows")
        if self.columns is not None:
            positive_integer(self.columns, "columns")
        if self.sizes is not None:
            object.__setattr__(self, "sizes", _sizes(self.sizes, self._shape))
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
        """The name of the space, its rows, and its columns where they are not as many.

        Empty where instances differ in size.
        """
        if self.sizes is not None:
            return {}
        named: dict[str, int | str] = {"space": self.name, "rows": self.rows}
        if self.columns is not None:
            named["columns"] = self.columns
        return named

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every state `[states, n]`.

        Raises:
            StructureError: there are more than 2^20 states, instances differ in size, or n is not
                rows times columns.
        """
        rows, columns = self._one_size(n)
        self._check_listed(n)
        if rows <= columns:
            states = _pairings(rows, columns, self.single)
        else:
            states = _pairings(columns, rows, self.single).transpose(-1, -2)
        return in_order(states.reshape(-1, n)).to(like)

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

    def _one_size(self, n: int) -> tuple[int, int]:
        """Return the numbers of rows and columns, which all instances have to share.

        Raises:
            StructureError: instances differ in size, or n is not rows times columns.
        """
        if self.sizes is not None:
            raise StructureError(f"{type(self).__name__} has other states for each instance")
        self.check(n)
        return self._shape

    def _assigned(self, scores: torch.Tensor, leading: torch.Size) -> torch.Tensor:
        """Return an assignment of highest score of each instance, `[batch, rows columns]`.

        Args:
            scores: `[batch, rows columns]`.
            leading: the leading dimensions `[..., batch]` that the caller's scores have.
        """
        solve = _solver()
        z = np.zeros((len(scores), *self._shape))
        sizes: Any = [self._shape]
        if self.sizes is not None:
            sizes = self.sizes
            check_batch(tuple(range(len(sizes))), leading, "sizes")
        tables = scores.detach().cpu().numpy().reshape(z.shape)
        # Rows and columns beyond the size of an instance stay empty.
        for instance, values, (rows, columns) in zip(z, tables, cycle(sizes), strict=False):
            instance[solve(values[:rows, :columns], maximize=True)] = 1
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
        sizes: `[batch, 2]`, how many rows and columns each instance of a batch uses, from 0 on;
            pairs beyond them are 0. None for all. Pass such a space to `ArgmaxLayer.over`.

    Raises:
        StructureError: rows or columns is not an integer of at least 1, sizes are out of range; or,
            when the space is used, sizes are for another batch.
        MissingPackageError: scipy is not installed.

    References:
        Crouse (2016), On implementing 2D rectangular assignment algorithms.

    Example:
        >>> Assignments(2).argmax(torch.tensor([[1.0, 2.0, 3.0, 5.0]])).reshape(2, 2)
        tensor([[1., 0.],
                [0., 1.]])
        >>> Assignments(2, sizes=[[1, 2]]).argmax(torch.tensor([[1.0, 2.0, 3.0, 5.0]]))
        tensor([[0., 1., 0., 0.]])
    """

    name: ClassVar[str] = "assignment"
    single: ClassVar[bool] = False

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of injections of the smaller side into the larger."""
        small, large = sorted(self._one_size(n))
        return math.lgamma(large + 1) - math.lgamma(large - small + 1)

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return assignments `[count, n]`, each drawn with equal probability.

        The noise of all pairs has the same distribution, so no assignment is preferred.
        """
        noise = random_numbers(
            torch.rand, (count, n), generator=generator, device=like.device, dtype=like.dtype
        )
        return self.argmax(noise)

    @between_graphs
    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return an assignment of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, where n is rows * columns.
            mask: boolean, False where a pair is forbidden.

        Raises:
            StructureError: `scores` is not a tensor of scores of that shape, or forbids every
                assignment of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        flat = self._flat(scores)
        return shaped(self._assigned(flat, scores.shape[:-1]), scores, self)


@dataclass(frozen=True)
class Matchings(_TwoSides):
    """The matchings of two sides: each member is in at most one pair.

    z `[rows columns]` is one at row * columns + column where row and column are paired. The argmax
    is an assignment of the positive parts of the scores; pairs of score zero or less are then left
    out, since they are no better than no pair. There is no `gibbs`, as for `Assignments`.

    Args:
        rows: number of members of one side, at least 1.
        columns: number of members of the other side; None for as many as rows.
        sizes: `[batch, 2]`, how many rows and columns each instance of a batch uses, from 0 on;
            pairs beyond them are 0. None for all. Pass such a space to `ArgmaxLayer.over`.

    Raises:
        StructureError: rows or columns is not an integer of at least 1, sizes are out of range; or,
            when the space is used, sizes are for another batch.
        MissingPackageError: scipy is not installed.

    Example:
        >>> Matchings(2).argmax(torch.tensor([[1.0, -2.0, 3.0, 1.0]])).reshape(2, 2)
        tensor([[0., 0.],
                [1., 0.]])
    """

    name: ClassVar[str] = "matching"
    single: ClassVar[bool] = True

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of matchings of all sizes."""
        return math.log(sum(_matchings_by_size(*self._one_size(n))))

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return matchings `[count, n]`, each drawn with equal probability.

        The number of pairs is drawn first. The rows and columns that are first in random orders of
        both sides are then paired, so that all matchings of that number are equally probable.
        """
        rows, columns = self._one_size(n)
        counts = _matchings_by_size(rows, columns)
        weights = [size / max(counts) for size in counts]
        sizes = torch.multinomial(
            torch.tensor(weights, dtype=torch.float64, device=like.device),
            count,
            replacement=True,
            generator=generator,
        )

        def ranks(members: int) -> torch.Tensor:
            noise = torch.rand((count, members), generator=generator, device=like.device)
            return noise.argsort(dim=-1)

        of_rows = ranks(rows)[:, :, None]
        paired = (of_rows == ranks(columns)[:, None, :]) & (of_rows < sizes[:, None, None])
        return paired.reshape(count, n).to(like.dtype)

    @between_graphs
    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a matching of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, where n is rows * columns.
            mask: boolean, False where a pair is forbidden.

        Raises:
            StructureError: `scores` is not a tensor of scores of that shape.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        flat = self._flat(scores)
        assigned = self._assigned(flat.clamp_min(0), scores.shape[:-1])
        return shaped(assigned * (flat > 0), scores, self)


def _matchings_by_size(rows: int, columns: int) -> list[int]:
    """Return the numbers of matchings with 0, 1, ... pairs."""
    sizes = range(min(rows, columns) + 1)
    return [math.comb(rows, m) * math.comb(columns, m) * math.factorial(m) for m in sizes]


def _pairings(rows: int, columns: int, single: bool) -> torch.Tensor:
    """Return every way to pair the rows with different columns, `[states, rows, columns]`.

    Args:
        rows: number of rows; at most `columns` unless a row may be in no pair.
        columns: number of columns.
        single: whether a row may be in no pair.
    """
    z = torch.zeros((1, rows, columns), device="cpu")
    for row in range(rows):
        free = z.sum(dim=1) == 0
        places, chosen = free.nonzero().unbind(dim=-1)
        extended = z[places]
        extended[torch.arange(len(places), device="cpu"), row, chosen] = 1
        if single:
            extended = torch.cat([z, extended])
        z = extended
    return z


def _sizes(sizes: object, shape: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    wanted = f"sizes must be [batch, 2] integers, from 0 to {shape[0]} rows and {shape[1]} columns"
    pairs = integers(sizes, wanted, may_be_empty=True)
    if not pairs.size:
        return ()
    fits = pairs.ndim == 2 and pairs.shape[1] == 2
    if not fits or bool(((pairs < 0) | (pairs > np.array(shape))).any()):
        raise StructureError(f"{wanted}; got {shortened(sizes)}")
    return tuple((rows, columns) for rows, columns in pairs.tolist())


def _solver() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    from scipy.optimize import linear_sum_assignment  # optional

    solve: Callable[..., tuple[np.ndarray, np.ndarray]] = linear_sum_assignment
    return solve
