"""The spaces of subsets of k of n, and of the contents of a knapsack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np
import torch

from ..autograd.recording import construct_between_graphs
from ..errors import StructureError, shortened
from ..noise import gumbel, gumbel_differences
from .checks.batches import UNREACHABLE, checked, integers, log_add, shaped
from .checks.counts import Counts, by_row, check_batch, check_instances, counts_of, largest
from .checks.scores import masked
from .listing import in_order
from .space import StateSpace
from .sums.distribution import StructureGibbs
from .sums.trellis import Weights, tables, trace


@dataclass(frozen=True)
class KOfN(StateSpace):
    """The states with exactly k ones, or with `least` to k ones, of any number of variables.

    The argmax takes the k highest scores. log Z is the logarithm of an elementary symmetric
    polynomial of exp(scores), by dynamic programming in O(n k).

    With numbers `[batch]`, as pooling and routing have them, every instance has its own k. Make the
    space for each batch, and pass it to `ArgmaxLayer.over`.

    Args:
        k: the largest number of ones; or `[batch]`, one for each instance.
        least: the smallest number of ones; or `[batch]`; None for k.

    Raises:
        StructureError: not 0 <= least <= k; or, when the space is used, k > n, or k has numbers for
            another batch.

    References:
        Kulesza, Taskar (2012), Determinantal point processes for machine learning, section 5.2.1:
        the polynomials and how to draw.

    Example:
        >>> KOfN(2).argmax(torch.tensor([[0.3, -1.0, 2.0, -0.1]]))
        tensor([[1., 0., 1., 0.]])
        >>> KOfN(2, least=0).argmax(torch.tensor([[-0.3, -1.0, 2.0, -0.1]]))
        tensor([[0., 0., 1., 0.]])
        >>> KOfN(torch.tensor([1, 2])).argmax(torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
        tensor([[1., 0., 0.],
                [0., 1., 1.]])
    """

    k: Counts | torch.Tensor | Sequence[int]
    least: Counts | torch.Tensor | Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", counts_of(self.k, "k"))
        if self.least is None:
            return
        object.__setattr__(self, "least", counts_of(self.least, "least"))
        try:
            in_order = np.asarray(self.least) <= np.asarray(self.k)
        except ValueError as error:
            raise StructureError(
                f"k and least must be numbers for the same batch; got {shortened(self.k)} and "
                f"{shortened(self.least)}"
            ) from error
        if not np.all(in_order):
            raise StructureError(
                f"least must be at most k = {shortened(self.k)}; got {shortened(self.least)}"
            )

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n]`, as `Structure` specifies.

        Beyond `least` ones, a variable of score zero stays zero.

        Args:
            scores: `[..., batch, n]`.
            mask: boolean, False where a variable must be 0.

        Raises:
            StructureError: the scores are not a tensor of scores, there are fewer than k of them,
                or they forbid too many variables of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        self._check_batch(scores)
        flat = self._checked(scores)
        values, places = flat.topk(self._width, dim=-1)  # in falling order
        ranks = torch.arange(self._width, device=flat.device)
        forced = ranks < by_row(self._fewest, flat)
        chosen = forced | ((values > 0) & (ranks < by_row(self._most, flat)))
        z = torch.zeros_like(flat).scatter(-1, places, chosen.to(flat))
        return shaped(z, scores, self)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores `[..., n]`; using it raises as `argmax` does."""
        scores = masked(scores, mask)
        self._check_batch(scores)
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    def check(self, n: int) -> None:
        """Raise unless there are subsets of n variables.

        Raises:
            StructureError: k > n, or k has numbers for several instances.
        """
        self._check_length(n, "")
        super().check(n)

    def has_one_state(self, n: int) -> bool:
        """Return whether all instances have to choose all n variables; False if k is by instance.

        A batch of instances that each have a k may happen to choose all variables.
        """
        return 0 < n == self._most == self._fewest

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of subsets.

        Raises:
            StructureError: k > n, or k differs by instance.
        """
        fewest, most = self._one_instance
        self.check(n)
        return math.log(sum(math.comb(n, ones) for ones in range(fewest, most + 1)))

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every subset `[states, n]`.

        Raises:
            StructureError: k > n, k differs by instance, or there are more than 2^20 subsets.
        """
        self._check_listed(n)
        fewest, most = self._one_instance
        parts = []
        for ones in range(fewest, most + 1):
            chosen = torch.tensor(list(combinations(range(n), ones)), dtype=torch.long)
            parts.append(torch.zeros((len(chosen), n)).scatter_(-1, chosen, 1.0))
        return in_order(torch.cat(parts)).to(like)

    @property
    def arguments(self) -> dict[str, int | str]:
        """The name subset, k, and `least` where it is not k; empty where they are by instance."""
        if isinstance(self.k, tuple) or isinstance(self.least, tuple):
            return {}
        fewest, most = self._one_instance
        named: dict[str, int | str] = {"space": "subset", "k": most}
        if self.least is not None:
            named["least"] = fewest
        return named

    @property
    def numbers_of_ones(self) -> tuple[int, int]:
        """The smallest and the largest number of ones; the argmax takes the highest scores.

        Raises:
            StructureError: they differ by instance.
        """
        return self._one_instance

    @property
    def _most(self) -> Counts:
        return cast("Counts", self.k)

    @property
    def _fewest(self) -> Counts:
        if self.least is None:
            return self._most
        return cast("Counts", self.least)

    @property
    def _one_instance(self) -> tuple[int, int]:
        """The smallest and the largest number of ones, where all instances share them."""
        fewest = self._fewest
        most = self._most
        if isinstance(fewest, tuple) or isinstance(most, tuple):
            raise StructureError(f"{self!r} has other states for each instance")
        return fewest, most

    def _check_batch(self, scores: torch.Tensor) -> None:
        # `_checked` names other types, and refuses nested tensors, which have no shape.
        if isinstance(scores, torch.Tensor) and not scores.is_nested:
            check_batch(self._most, scores.shape[:-1], "k")
            check_batch(self._fewest, scores.shape[:-1], "least")

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        flat = checked(scores)
        self._check_length(flat.shape[-1], f", of scores {list(scores.shape)}")
        return flat

    def _check_length(self, n: int, of_scores: str) -> None:
        """Raise if there are fewer than k variables; `of_scores` names the scores, or is empty."""
        most = largest(self._most)
        if n < most:
            raise StructureError(
                f"k = {most} is more than the number of variables, {n}{of_scores}: lower k, or "
                f"pass scores [..., n] of at least {most} variables"
            )

    @property
    def _width(self) -> int:
        return largest(self._most)

    def _only_allowed(self, sum_by_count: torch.Tensor) -> torch.Tensor:
        """Return the log sums `[rows, k + 1]` by the number of ones, of the allowed numbers."""
        counts = torch.arange(sum_by_count.shape[-1], device=sum_by_count.device)
        too_few = counts < by_row(self._fewest, sum_by_count)
        too_many = counts > by_row(self._most, sum_by_count)
        return sum_by_count.masked_fill(too_few | too_many, UNREACHABLE)

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        last = tables(scores, [1] * scores.shape[-1], self._width, log_add)[-1]
        return self._only_allowed(last).logsumexp(dim=-1)

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        weights = [1] * scores.shape[-1]
        sum_by_count = tables(scores, weights, self._width, log_add)
        total = _drawn_total(self._only_allowed(sum_by_count[-1]), generator, samples)
        return trace(sum_by_count, scores, weights, total, _advantages(scores, total, generator))


@dataclass(frozen=True)
class Knapsack(StateSpace):
    """The states with sum_i weights[i] z_i <= capacity, for integer weights.

    Argmax and log Z come from dynamic programming over the total weight, in O(n capacity).

    Weights `[batch, n]` and capacities `[batch]` may differ by instance. Make the space for each
    batch, and pass it to `ArgmaxLayer.over`.

    Args:
        weights: `[n]`, integers of at least 0; or `[batch, n]`, a row for each instance.
        capacity: integer of at least 0; or `[batch]`, one for each instance. A capacity above the
            sum of the weights costs nothing.

    Raises:
        StructureError: weights or capacity are not such integers; or, when the space is used, they
            are for another batch, or the tables of a batch would take more than 2 GiB.

    References:
        Kellerer, Pferschy, Pisinger (2004), Knapsack problems, section 2.3.

    Example:
        >>> Knapsack([3, 4, 2], capacity=6).argmax(torch.tensor([[4.0, 5.0, 3.0]]))
        tensor([[0., 1., 1.]])
        >>> values = torch.tensor([[4.0, 5.0, 3.0], [4.0, 5.0, 3.0]])
        >>> Knapsack([[3, 4, 2], [1, 5, 1]], capacity=[7, 6]).argmax(values)
        tensor([[1., 1., 0.],
                [1., 1., 0.]])
    """

    weights: Sequence[int] | Sequence[Sequence[int]] | torch.Tensor
    capacity: Counts | torch.Tensor | Sequence[int]

    def __post_init__(self) -> None:
        construct_between_graphs()
        object.__setattr__(self, "weights", _weights(self.weights))
        object.__setattr__(self, "capacity", counts_of(self.capacity, "capacity"))
        most = self._most
        if not self._by_instance or isinstance(most, int):
            return
        if len(self._rows) != len(most):
            raise StructureError(
                f"weights and capacity must be for the same batch; got {len(self._rows)} rows of "
                f"weights and {len(most)} capacities"
            )

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, one for each weight.
            mask: boolean, False where an item must stay out.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        self._check_batch(scores)
        flat = self._checked(scores)
        weights = self._weights_of(flat)
        best_by_weight = tables(flat, weights, self._width, torch.maximum)
        total = self._only_allowed(best_by_weight[-1]).argmax(dim=-1)[None]
        no_noise = flat.new_zeros((flat.shape[-1], 1, 1))
        return shaped(trace(best_by_weight, flat, weights, total, no_noise)[0], scores, self)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores `[..., n]`; using it raises as `argmax` does."""
        scores = masked(scores, mask)
        self._check_batch(scores)
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    @property
    def _most(self) -> Counts:
        return cast("Counts", self.capacity)

    @property
    def _by_instance(self) -> bool:
        """Whether instances have weights of their own."""
        return isinstance(self.weights[0], tuple)

    @property
    def _rows(self) -> tuple[tuple[int, ...], ...]:
        """The weights of each instance; a single row where instances share them."""
        if self._by_instance:
            return cast("tuple[tuple[int, ...], ...]", self.weights)
        return (cast("tuple[int, ...]", self.weights),)

    @property
    def _width(self) -> int:
        heaviest = max(sum(row) for row in self._rows)
        return min(largest(self._most), heaviest)

    def _weights_of(self, flat: torch.Tensor) -> Weights:
        """Return the weights of scores `[rows, n]`: n integers, or `[n, rows]`."""
        if not self._by_instance:
            return self._rows[0]
        # A weight above every capacity is as good as any other, and fits into an integer of torch.
        most = self._width + 1
        rows = torch.tensor([[min(w, most) for w in row] for row in self._rows], device=flat.device)
        return rows.repeat(len(flat) // len(rows), 1).T

    def _check_batch(self, scores: torch.Tensor) -> None:
        # `_checked` names other types, and refuses nested tensors, which have no shape.
        if isinstance(scores, torch.Tensor) and not scores.is_nested:
            if self._by_instance:
                check_instances(len(self._rows), scores.shape[:-1], "weights")
            check_batch(self._most, scores.shape[:-1], "capacity")

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, len(self._rows[0]))

    def _only_allowed(self, by_weight: torch.Tensor) -> torch.Tensor:
        """Return the values `[rows, width + 1]` by total weight, of the allowed weights."""
        if isinstance(self._most, int):
            return by_weight
        total = torch.arange(by_weight.shape[-1], device=by_weight.device)
        return by_weight.masked_fill(total > by_row(self._most, by_weight), UNREACHABLE)

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        last = tables(scores, self._weights_of(scores), self._width, log_add)[-1]
        return self._only_allowed(last).logsumexp(dim=-1)

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        weights = self._weights_of(scores)
        sum_by_weight = tables(scores, weights, self._width, log_add)
        total = _drawn_total(self._only_allowed(sum_by_weight[-1]), generator, samples)
        noise = _advantages(scores, total, generator)
        return trace(sum_by_weight, scores, weights, total, noise)


def _drawn_total(last: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
    """Return draws `[samples, batch]` of the total weight, by log sums `[batch, weights]`."""
    noise = gumbel(last.expand(samples, *last.shape), generator)
    return (last + noise).argmax(dim=-1)


def _advantages(
    scores: torch.Tensor, total: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """Return the noise `[n, samples, batch]` with which `trace` draws."""
    return gumbel_differences(scores.new_empty((scores.shape[-1], *total.shape)), generator)


def _weights(weights: object) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
    wanted = "weights must be integers of at least 0, [n] or [batch, n]"
    array = integers(weights, wanted)
    if array.ndim not in (1, 2) or (array < 0).any():
        raise StructureError(f"{wanted}; got {shortened(weights)}")
    if array.ndim == 1:
        return tuple(array.tolist())
    return tuple(tuple(row) for row in array.tolist())
