"""Importance-weighted bounds on -log p(x) at several numbers of samples, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

import torch

from models.networks.decoder import DECODED_TOGETHER

from .quantities import Quantity, average

PREFIX: Final = "importance_"
"""The name of a bound begins with it, and ends with the number of samples."""


class ImportanceBounds:
    """Importance-weighted bounds at several numbers of samples, from one stream of log weights.

    The bound at K is L_K = E[-log (1/K) sum_k w_k] with w_k = p(x, z_k) / q(z_k | x). In
    expectation it is at least -log p(x), and falls as K grows. Every K splits the stream into
    groups of K weights and averages over the groups. Only the sums of open groups are stored, so
    memory does not grow with the number of samples.

    Args:
        counts: the numbers K.

    References:
        Burda, Grosse, Salakhutdinov (2016), Importance weighted autoencoders, theorem 1.

    Example:
        >>> bounds = ImportanceBounds([1, 2])
        >>> bounds.add(torch.tensor([[1.0], [3.0]]).log())
        >>> {count: round(float(value), 3) for count, value in bounds.values().items()}
        {1: -0.549, 2: -0.693}
    """

    def __init__(self, counts: Iterable[int]):
        self._groups = {count: _Groups(count) for count in counts}

    def add(self, log_weights: torch.Tensor) -> None:
        """Add log weights `[draws, batch]` of the same images, any number at a time."""
        weights = log_weights.double()
        for groups in self._groups.values():
            groups.add(weights)

    def values(self) -> dict[int, torch.Tensor]:
        """Return the bound `[batch]` in nats for each K, of groups that are full."""
        return {count: groups.bound() for count, groups in self._groups.items()}


class _Groups:
    """Groups of `count` weights each, of which the last one may be open."""

    def __init__(self, count: int):
        self.count = count
        self._full = 0
        self._total: torch.Tensor | float = 0.0
        self._inside = 0
        self._open: torch.Tensor | float = 0.0

    def add(self, weights: torch.Tensor) -> None:
        # Fill the open group first.
        if self._inside:
            missing = self.count - self._inside
            self._extend(weights[:missing])
            weights = weights[missing:]
        # Take all full groups at once, and open a group with the rest.
        full = len(weights) // self.count
        if full:
            groups = weights[: full * self.count].view(full, self.count, -1)
            self._total = self._total + groups.logsumexp(dim=1).sum(dim=0)
            self._full += full
        rest = weights[full * self.count :]
        if len(rest):
            self._extend(rest)

    def _extend(self, weights: torch.Tensor) -> None:
        """Add weights to the open group, which they fill at most."""
        # Several calls may fill a group, so its log sum stays open until then.
        log_sum = weights.logsumexp(dim=0)
        if self._inside:
            log_sum = torch.logaddexp(torch.as_tensor(self._open), log_sum)
        self._open = log_sum
        self._inside += len(weights)
        if self._inside == self.count:
            self._total = self._total + log_sum
            self._full += 1
            self._inside = 0

    def bound(self) -> torch.Tensor:
        return math.log(self.count) - torch.as_tensor(self._total) / self._full


def draws_needed(samples: int, counts: Iterable[int]) -> int:
    """Return the number of draws per image: `samples`, or the largest of `counts` if it is more."""
    return max(samples, *counts, 1)


def draws_at_once(samples: int, images: torch.Tensor) -> Iterator[int]:
    """Yield numbers of draws that add up to `samples`, each to be decoded for all images at once.

    Args:
        samples: number of draws per image.
        images: `[batch, pixels]`.
    """
    most = max(1, DECODED_TOGETHER // images.numel())
    for start in range(0, samples, most):
        yield min(most, samples - start)


def importance_names(counts: Iterable[int]) -> dict[str, int]:
    """Return these numbers of samples by the name of the quantity of each."""
    return {f"{PREFIX}{count}": count for count in counts}


def importance_columns(bounds: ImportanceBounds, counts: Iterable[int]) -> dict[str, torch.Tensor]:
    """Return the bounds `[batch]` at these numbers of samples, by the name of their quantity."""
    values = bounds.values()
    return {name: values[count] for name, count in importance_names(counts).items()}


def importance_quantities(
    columns: dict[str, torch.Tensor], samples: int, counts: Iterable[int]
) -> dict[str, Quantity]:
    """Return the averages over images of the bounds at these numbers of samples, by name.

    Args:
        columns: the bounds `[images]` by name.
        samples: number of draws per image.
        counts: the numbers K.
    """
    return {
        name: average(
            columns[name],
            "bound",
            f"-log p(x), importance-weighted, {count} samples, {samples // count} times",
        )
        for name, count in importance_names(counts).items()
    }
