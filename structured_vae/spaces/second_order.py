"""The space of labels of a chain in which three neighbours have a score together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from models.states import codes_of
from models.traced import holds

from ..autograd.recording import construct_between_graphs
from ..errors import StructureError, shortened
from .checks.batches import is_dense, positive_integer
from .checks.lengths import lengths_of, nan_if_out_of_range
from .checks.shapes import require_shape
from .of_paths import SpaceOfPaths
from .paths import Paths


@dataclass(frozen=True, eq=False)
class SecondOrderChains(SpaceOfPaths):
    """The labels x of n positions, with scores of single labels, pairs and triples of neighbours.

    score = sum_i unary[i, x_i] + sum_i pairwise[i, x_i, x_(i+1)] + sum_i triples[i, x_i, x_(i+1),
    x_(i+2)].

    z `[k k + (n - 2) k k k]` is one at the first pair of labels, and at each triple, so the score
    is linear in z. `scores` makes the vector of scores, `states_of` and `labels` convert labels.
    Argmax, log Z, marginals and samples are exact, by dynamic programming over pairs of labels in
    O(n k^3).

    Args:
        n: number of positions, at least 2. Shorter sequences have `lengths` in `scores`.
        k: number of labels, at least 1.

    Raises:
        StructureError: n or k is out of range.

    Example:
        >>> space = SecondOrderChains(3, 2)
        >>> triples = torch.zeros(2, 2, 2)
        >>> triples[0, 1, 0] = 2.0  # 0, 1, 0 is likely
        >>> unary = torch.tensor([[[0.0, 0.5], [0.0, 0.5], [0.0, 0.5]]])
        >>> scores = space.scores(unary, None, triples)
        >>> space.labels(space.argmax(scores))
        tensor([[0, 1, 0]])
        >>> space.gibbs(torch.zeros(1, space.dimension)).log_partition.exp()
        tensor([8.])
    """

    n: int
    k: int
    _paths: Paths = field(init=False, repr=False)

    def __post_init__(self) -> None:
        construct_between_graphs()
        object.__setattr__(self, "n", positive_integer(self.n, "n", 2))
        object.__setattr__(self, "k", positive_integer(self.k, "k"))
        object.__setattr__(self, "_paths", _paths(self.n, self.k))

    @property
    def dimension(self) -> int:
        """The length of scores and states, k k + (n - 2) k k k."""
        return self.k**2 + (self.n - 2) * self.k**3

    def scores(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        triples: torch.Tensor | None = None,
        lengths: torch.Tensor | Sequence[int] | None = None,
    ) -> torch.Tensor:
        """Return the scores of labels, pairs and triples as vectors `[..., dimension]`.

        Args:
            unary: `[..., n, k]`.
            pairwise: `[..., n - 1, k, k]`, or `[k, k]` for all positions; None for zeros.
            triples: `[..., n - 2, k, k, k]`, or `[k, k, k]` for all positions; None for zeros.
            lengths: `[batch]`, the number of positions of each instance; None for n. Positions
                beyond have label 0 and score 0.

        Raises:
            StructureError: a shape does not fit, or a length is not from 1 to n.
        """
        n = self.n
        k = self.k
        require_shape(unary, (n, k), "unary")
        leading = unary.shape[:-2]
        if pairwise is None:
            pairwise = unary.new_zeros((k, k))
        if pairwise.ndim == 2:
            pairwise = pairwise.expand(n - 1, k, k)
        require_shape(pairwise, (n - 1, k, k), "pairwise")
        if triples is None:
            triples = unary.new_zeros((k, k, k))
        if triples.ndim == 3:
            triples = triples.expand(n - 2, k, k, k)
        require_shape(triples, (n - 2, k, k, k), "triples")
        # What a step to a new label adds: its own score, and that with one and two labels before.
        steps = pairwise + unary[..., 1:, None, :]
        further = triples + steps[..., 1:, None, :, :]
        first = steps[..., 0, :, :]
        limits = None
        if lengths is not None:
            limits = lengths_of(lengths, n, leading).to(unary.device)
            first = _padded(first, limits[..., None] > 1)
            positions = torch.arange(2, n, device=unary.device)
            further = _padded(further, (positions < limits)[..., None, None, None])
        first = first + unary[..., 0, :, None]
        vectors = (first.flatten(-2), further.flatten(-4))
        scores = torch.cat([vector.expand(*leading, -1) for vector in vectors], dim=-1)
        if limits is not None:
            scores = nan_if_out_of_range(scores, limits, n)
        return scores

    def labels(self, z: torch.Tensor) -> torch.Tensor:
        """Return the labels `[..., n]` of states `[..., dimension]`."""
        first, triples = self.parts(z)
        start = first.flatten(-2).argmax(dim=-1, keepdim=True)
        last = triples.flatten(-3).argmax(dim=-1) % self.k
        return torch.cat([start // self.k, start % self.k, last], dim=-1)

    def parts(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the entries of first pairs `[..., k, k]` and of triples `[..., n - 2, k, k, k]`.

        Args:
            scores: `[..., dimension]`, scores, states or marginals.
        """
        k = self.k
        first, triples = scores.tensor_split((k * k,), dim=-1)
        leading = scores.shape[:-1]
        return first.reshape(*leading, k, k), triples.reshape(*leading, self.n - 2, k, k, k)

    def position_marginals(self, marginals: torch.Tensor) -> torch.Tensor:
        """Return the probability of each label at each position, `[..., n, k]`, from marginals.

        Args:
            marginals: `[..., dimension]`.
        """
        first, triples = self.parts(marginals)
        borders = torch.stack([first.sum(dim=-1), first.sum(dim=-2)], dim=-2)
        return torch.cat([borders, triples.sum(dim=(-3, -2))], dim=-2)

    def states_of(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the states `[..., dimension]` of labels `[..., n]`, as float32.

        Args:
            labels: integers from 0 to k - 1; 0 at positions beyond the length of an instance.

        Raises:
            StructureError: the labels are not such integers.
        """
        is_tensor = isinstance(labels, torch.Tensor) and is_dense(labels)
        integral = is_tensor and not (labels.is_floating_point() or labels.is_complex())
        if not integral or labels.ndim == 0 or labels.shape[-1] != self.n:
            raise StructureError(
                f"labels must be integers [..., {self.n}]; got {shortened(labels)}"
            )
        labels = labels.long()
        if not holds((labels >= 0) & (labels < self.k)):
            raise StructureError(f"labels must be from 0 to {self.k - 1}")
        k = self.k
        first = codes_of(labels[..., :1] * k + labels[..., 1:2], k**2)
        places = (labels[..., :-2] * k + labels[..., 1:-1]) * k + labels[..., 2:]
        triples = codes_of(places, k**3)
        return torch.cat([first, triples], dim=-1).float()


def _padded(scores: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    """Return scores `[..., k]` where `inside`; elsewhere 0 for label 0, and others forbidden."""
    padding = torch.full_like(scores[..., :1], -torch.inf).expand_as(scores).clone()
    padding[..., 0] = 0.0
    return torch.where(inside, scores, padding)


def _paths(n: int, k: int) -> Paths:
    """Return the paths that are chains: node (i, a, b) says that positions i and i + 1 have a, b.

    Paths end at the node of the last pair. The nodes of the last pairs are one node, the target.
    """
    first, second, third = np.meshgrid(np.arange(k), np.arange(k), np.arange(k), indexing="ij")
    pairs = np.arange(k * k)
    target = 1 + (n - 2) * k * k
    heads_of_first = 1 + pairs
    if n == 2:
        heads_of_first = np.full(k * k, target)
    arcs = [np.stack([np.zeros(k * k, np.int64), heads_of_first], axis=-1)]
    for step in range(n - 2):
        tails = 1 + step * k * k + first * k + second
        heads = 1 + (step + 1) * k * k + second * k + third
        if step == n - 3:
            heads = np.full_like(heads, target)
        arcs.append(np.stack([tails, heads], axis=-1).reshape(-1, 2))
    return Paths(np.concatenate(arcs).astype(np.int64), source=0, target=target)
