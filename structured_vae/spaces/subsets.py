"""Subsets of k of n, and what fits into a knapsack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import torch

from models.states import MOST_BITS

from ..errors import StructureError, shortened
from ..noise import gumbel, gumbel_differences
from .batches import checked, integers, log_add, positive_integer, shaped
from .space import CODED_BITS, StateSpace
from .sums import StructureGibbs
from .trellis import tables, trace


@dataclass(frozen=True)
class KOfN(StateSpace):
    """The states with exactly k ones, or with `least` to k of them; of any number n of variables.

    The argmax takes the k highest scores. log Z is the logarithm of an elementary symmetric
    polynomial of exp(scores), by dynamic programming in O(n k).

    Args:
        k: the most ones.
        least: the fewest; None for k.

    Raises:
        StructureError: not 0 <= least <= k, or, when it is asked, k > n.

    References:
        Kulesza, Taskar (2012), Determinantal point processes for machine learning, section 5.2.1:
        the polynomials and how to draw.

    Example:
        >>> KOfN(2).argmax(torch.tensor([[0.3, -1.0, 2.0, -0.1]]))
        tensor([[1., 0., 1., 0.]])
        >>> KOfN(2, least=0).argmax(torch.tensor([[-0.3, -1.0, 2.0, -0.1]]))
        tensor([[0., 0., 1., 0.]])
    """

    k: int
    least: int | None = None

    def __post_init__(self) -> None:
        positive_integer(self.k, "k", 0)
        if self.least is not None and positive_integer(self.least, "least", 0) > self.k:
            raise StructureError(f"least must be at most k = {self.k}; got {shortened(self.least)}")

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """A state of highest score, as `Structure` says; where more than `least` are free, zeros stay out.

        Raises:
            StructureError: scores that are none, or fewer than k.
        """
        flat = self._checked(scores)
        values, places = flat.topk(self.k, dim=-1)  # in falling order
        forced = torch.arange(self.k, device=flat.device) < self._fewest
        return shaped(
            torch.zeros_like(flat).scatter_(-1, places, (forced | (values > 0)).to(flat)),
            scores,
            self,
        )

    def gibbs(self, scores: torch.Tensor) -> StructureGibbs:
        """The Gibbs distribution of `scores [..., n]`; errors when it is asked, as of `argmax`."""
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of subsets.

        Raises:
            StructureError: k > n.
        """
        self.check(n)
        return math.log(sum(math.comb(n, ones) for ones in range(self._fewest, self.k + 1)))

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every subset `[states, n]`.

        Raises:
            StructureError: k > n, or there are more than 2^20 subsets, or n is larger than 62.
        """
        if self.log_count(n) > MOST_BITS * math.log(2) or n > CODED_BITS:
            raise StructureError(
                f"a table takes at most 2^{MOST_BITS} states of {CODED_BITS} bits; {self!r} of "
                f"n = {n} has exp({self.log_count(n):.1f})"
            )
        codes = [
            sum(1 << i for i in chosen)
            for ones in range(self._fewest, self.k + 1)
            for chosen in combinations(range(n), ones)
        ]
        bits = torch.arange(n, device=like.device)
        ordered = torch.tensor(sorted(codes), device=like.device)
        return (ordered[:, None] >> bits & 1).to(like.dtype)

    @property
    def arguments(self) -> dict[str, int | str]:
        """The name subset, k, and `least` where it is not k."""
        named: dict[str, int | str] = {"space": "subset", "k": self.k}
        if self.least is not None:
            named["least"] = self.least
        return named

    @property
    def _fewest(self) -> int:
        return self.k if self.least is None else self.least

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        flat = checked(scores)
        if flat.shape[-1] < self.k:
            raise StructureError(f"k = {self.k} of {flat.shape[-1]} variables cannot be one")
        return flat

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        last = tables(scores, [1] * scores.shape[-1], self.k, log_add)[-1]
        return last[:, self._fewest :].logsumexp(dim=-1)

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        weights = [1] * scores.shape[-1]
        found = tables(scores, weights, self.k, log_add)
        total = _drawn_total(found[-1], self._fewest, generator, samples)
        return trace(found, scores, weights, total, _advantages(scores, total, generator))


@dataclass(frozen=True)
class Knapsack(StateSpace):
    """The states with sum_i weights[i] z_i <= capacity, for integer weights.

    Argmax and log Z by dynamic programming over the total weight, in O(n capacity).

    Args:
        weights: `[n]`, integers of at least 0.
        capacity: integer of at least 0; more than the sum of the weights costs nothing.

    Raises:
        StructureError: weights or capacity are no such numbers, or, when it is asked, tables of a
            batch would take more than 2 GiB.

    References:
        Kellerer, Pferschy, Pisinger (2004), Knapsack problems, section 2.3.

    Example:
        >>> Knapsack([3, 4, 2], capacity=6).argmax(torch.tensor([[4.0, 5.0, 3.0]]))
        tensor([[0., 1., 1.]])
    """

    weights: Sequence[int]
    capacity: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _integers(self.weights))
        object.__setattr__(self, "capacity", positive_integer(self.capacity, "capacity", 0))

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """A state of highest score, as `Structure` says.

        Raises:
            StructureError: scores that are none, or not one a weight.
        """
        flat = self._checked(scores)
        found = tables(flat, self.weights, self._width, torch.maximum)
        total = found[-1].argmax(dim=-1)[None]
        still = flat.new_zeros((len(self.weights), 1, 1))
        return shaped(trace(found, flat, self.weights, total, still)[0], scores, self)

    def gibbs(self, scores: torch.Tensor) -> StructureGibbs:
        """The Gibbs distribution of `scores [..., n]`; errors when it is asked, as of `argmax`."""
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    @cached_property
    def _width(self) -> int:
        return min(self.capacity, sum(self.weights))

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, len(self.weights))

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        return tables(scores, self.weights, self._width, log_add)[-1].logsumexp(dim=-1)

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        found = tables(scores, self.weights, self._width, log_add)
        total = _drawn_total(found[-1], 0, generator, samples)
        return trace(found, scores, self.weights, total, _advantages(scores, total, generator))


def _drawn_total(
    last: torch.Tensor, fewest: int, generator: torch.Generator, samples: int
) -> torch.Tensor:
    """`[samples, batch]`: a draw of the total weight, of at least `fewest`."""
    allowed = last[:, fewest:]
    noise = gumbel(allowed.expand(samples, *allowed.shape), generator)
    total: torch.Tensor = (allowed + noise).argmax(dim=-1) + fewest
    return total


def _advantages(
    scores: torch.Tensor, total: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """`[n, samples, batch]`: the noise by which `trace` draws."""
    return gumbel_differences(scores.new_empty((scores.shape[-1], *total.shape)), generator)


def _integers(weights: object) -> tuple[int, ...]:
    wanted = "weights must be integers [n] of at least 0"
    found = integers(weights, wanted)
    if found.ndim != 1 or (found < 0).any():
        raise StructureError(f"{wanted}; got {shortened(weights)}")
    return tuple(found.tolist())
