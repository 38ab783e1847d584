"""The space of segmentations: semi-Markov chains of labelled segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import torch

from ..autograd.recording import construct_between_graphs
from ..errors import StructureError, shortened
from .checks.batches import positive_integer
from .checks.lengths import lengths_of, nan_if_out_of_range
from .checks.shapes import require_shape
from .of_paths import SpaceOfPaths
from .paths import Paths

Segment: TypeAlias = tuple[int, int, int]
"""The first position of a segment, the position after its last one, and its label."""


@dataclass(frozen=True, eq=False)
class Segments(SpaceOfPaths):
    """The ways to cut n positions into segments, each with one of k labels.

    score = sum_s segments[first_s, duration_s - 1, label_s] + sum_s transitions[first_(s+1) - 1,
    label_s, label_(s+1)] + start[label_1] + end[label_last].

    z is one at the entries of this sum, so the score is linear in z. `scores` makes the vector of
    scores, and `parts` takes it apart. A segmentation is a path, so argmax, log Z, marginals and
    samples are exact, by dynamic programming in O(n k (longest + k)).

    Args:
        n: number of positions, at least 1.
        k: number of labels, at least 1.
        longest: the longest segment, from 1 to n.

    Raises:
        StructureError: n, k or longest is out of range.

    References:
        Sarawagi, Cohen (2004), Semi-Markov conditional random fields for information extraction.

    Example:
        >>> space = Segments(4, 2, longest=3)
        >>> emissions = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])
        >>> scores = space.scores(space.segment_scores(emissions) - 0.5)
        >>> space.segments(space.argmax(scores))
        [[(0, 2, 0), (2, 4, 1)]]
        >>> space.gibbs(torch.zeros(1, space.dimension)).log_partition.exp().round()
        tensor([52.])
    """

    n: int
    k: int
    longest: int
    _paths: Paths = field(init=False, repr=False)

    def __post_init__(self) -> None:
        construct_between_graphs()
        for name in ("n", "k", "longest"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))
        if self.longest > self.n:
            raise StructureError(f"longest must be at most n = {self.n}; got {self.longest}")
        object.__setattr__(self, "_paths", _paths(self.n, self.k, self.longest))

    @property
    def dimension(self) -> int:
        """The length of scores and states, n longest k + (n - 1) k k + 2 k."""
        return sum(self._widths)

    @property
    def _widths(self) -> tuple[int, int, int, int]:
        k = self.k
        return self.n * self.longest * k, (self.n - 1) * k * k, k, k

    def segment_scores(
        self, emissions: torch.Tensor, durations: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return scores of segments that add up scores of positions: `[..., n, longest, k]`.

        Args:
            emissions: `[..., n, k]`, the score of each label at each position; minus infinity
                forbids a label there.
            durations: `[longest, k]`, what a segment of that duration adds; None for zeros.

        Raises:
            StructureError: a shape does not fit.
        """
        require_shape(emissions, (self.n, self.k), "emissions")
        forbidden = emissions == -torch.inf
        # In 16 bits, prefix sums of a long sequence would lose the scores of its last segments.
        sums = self._sums(emissions.masked_fill(forbidden, 0.0).double())
        scores = sums.to(emissions.dtype)
        # The difference of two infinite prefix sums would be nan.
        scores = scores.masked_fill(self._sums(forbidden.long()) > 0, -torch.inf)
        if durations is None:
            return scores
        require_shape(durations, (self.longest, self.k), "durations")
        return scores + durations

    def _sums(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sums of values `[..., n, k]` over segments, `[..., n, longest, k]`."""
        # Prefix sums: the values of a segment add up to the difference of two of them.
        start = torch.zeros_like(values[..., :1, :])
        sums = torch.cat([start, values.cumsum(dim=-2)], dim=-2)
        firsts = torch.arange(self.n, device=values.device)[:, None]
        steps = torch.arange(1, self.longest + 1, device=values.device)
        # Segments that end beyond n are on no path, so their scores do not matter.
        ends = (firsts + steps).clamp_max(self.n)
        return sums[..., ends, :] - sums[..., : self.n, None, :]

    def scores(
        self,
        segments: torch.Tensor,
        transitions: torch.Tensor | None = None,
        start: torch.Tensor | None = None,
        end: torch.Tensor | None = None,
        lengths: torch.Tensor | Sequence[int] | None = None,
    ) -> torch.Tensor:
        """Return the scores of all parts as vectors `[..., dimension]`, differentiable.

        Args:
            segments: `[..., n, longest, k]`, by first position, duration - 1 and label.
            transitions: `[..., n - 1, k, k]`, between the segments that end and start there, or
                `[k, k]` for all positions; None for zeros.
            start: `[k]` or `[..., k]`, the score of the first label; None for zeros.
            end: `[k]` or `[..., k]`, the score of the last label; None for zeros.
            lengths: `[batch]`, the number of positions of each instance; None for n. Positions
                beyond have segments of one position and label 0, which score 0.

        Raises:
            StructureError: a shape does not fit, or a length is not from 1 to n.
        """
        n = self.n
        k = self.k
        require_shape(segments, (n, self.longest, k), "segments")
        leading = segments.shape[:-3]
        if transitions is None:
            transitions = segments.new_zeros((k, k))
        if transitions.ndim == 2:
            transitions = transitions.expand(n - 1, k, k)
        require_shape(transitions, (n - 1, k, k), "transitions")
        borders = []
        for name, values in (("start", start), ("end", end)):
            if values is None:
                values = segments.new_zeros(k)
            require_shape(values, (k,), name)
            borders.append(values)
        limits = None
        if lengths is not None:
            limits = lengths_of(lengths, n, leading).to(segments.device)
            segments, transitions = self._cut(segments, transitions, borders[1], limits)
            # The segments at the length have these scores by now; twice would count them twice.
            borders[1] = segments.new_zeros(k)
        vectors = [segments.flatten(-3)]
        vectors.append(transitions.flatten(-3).expand(*leading, -1))
        vectors += [values.expand(*leading, -1) for values in borders]
        scores = torch.cat(vectors, dim=-1)
        if limits is not None:
            scores = nan_if_out_of_range(scores, limits, n)
        return scores

    def _cut(
        self,
        segments: torch.Tensor,
        transitions: torch.Tensor,
        end: torch.Tensor,
        lengths: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores in which positions beyond `lengths [..., 1]` are segments of label 0.

        The scores of last labels move to the segments that end at the length.
        """
        device = segments.device
        first = torch.arange(self.n, device=device)[:, None]
        after = first + torch.arange(1, self.longest + 1, device=device)
        limits = lengths[..., None]
        inside = after <= limits
        ends_here = (after == limits)[..., None]
        padding = ((first >= limits) & (after == first + 1))[..., None]
        padding = padding & (torch.arange(self.k, device=device) == 0)
        scores = torch.where(ends_here, segments + end[..., None, None, :], segments)
        scores = torch.where(inside[..., None], scores, -torch.inf)
        # After the line above: this padding lies beyond the length, which that line forbids.
        scores = torch.where(padding, 0.0, scores)
        boundary = torch.arange(1, self.n, device=device)
        within = (boundary < lengths)[..., None, None]
        return scores, torch.where(within, transitions, 0.0)

    def parts(
        self, scores: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the entries of segments, transitions, first and last labels.

        Args:
            scores: `[..., dimension]`, scores, states or marginals.

        Returns:
            `[..., n, longest, k]`, `[..., n - 1, k, k]`, `[..., k]` and `[..., k]`.
        """
        leading = scores.shape[:-1]
        ends = np.cumsum(self._widths)[:-1].tolist()
        segments, transitions, start, end = scores.tensor_split(ends, dim=-1)
        tables = transitions.reshape(*leading, self.n - 1, self.k, self.k)
        return segments.reshape(*leading, self.n, self.longest, self.k), tables, start, end

    def labels(self, z: torch.Tensor) -> torch.Tensor:
        """Return the label of each position `[..., n]` of states `[..., dimension]`.

        Of marginals, the label that is most probable at each position.
        """
        return self.position_marginals(z).argmax(dim=-1)

    def position_marginals(self, marginals: torch.Tensor) -> torch.Tensor:
        """Return the probability of each label at each position, `[..., n, k]`, from marginals.

        Args:
            marginals: `[..., dimension]`.
        """
        segments = self.parts(marginals)[0]
        covered = torch.zeros_like(segments[..., 0, :])
        for duration in range(1, self.longest + 1):
            ones = segments[..., : self.n - duration + 1, duration - 1, :]
            for offset in range(duration):
                covered[..., offset : offset + ones.shape[-2], :] += ones
        return covered

    def segments(
        self, z: torch.Tensor, lengths: torch.Tensor | Sequence[int] | None = None
    ) -> list[list[Segment]]:
        """Return the segments of states `[batch, dimension]`, as (first, after the last, label).

        Args:
            z: the states.
            lengths: `[batch]`, as for `scores`; segments beyond are left out.

        Raises:
            StructureError: `z` is not `[batch, dimension]`, or a length is not from 1 to n.
        """
        if z.ndim != 2:
            raise StructureError(f"z must be [batch, {self.dimension}]; got {list(z.shape)}")
        limits = torch.full((len(z),), self.n)
        if lengths is not None:
            limits = lengths_of(lengths, self.n, z.shape[:1])[:, 0].cpu()
        lists: list[list[Segment]] = [[] for _ in range(len(z))]
        for instance, first, place, label in self.parts(z)[0].nonzero().tolist():
            if first < int(limits[instance]):
                lists[instance].append((first, first + place + 1, label))
        return lists

    def states_of(self, segmentations: Sequence[Sequence[Segment]]) -> torch.Tensor:
        """Return the states `[batch, dimension]` of segmentations, as float32.

        Args:
            segmentations: for each instance its segments in order, as `segments` returns them.
                Positions after the last segment are padding.

        Raises:
            StructureError: segments do not follow each other from position 0 on, one is too long,
                or a label is out of range.
        """
        states = [self._state(segments) for segments in segmentations]
        if not states:
            return torch.zeros((0, self.dimension))
        return torch.stack(states)

    def _state(self, segments: Sequence[Segment]) -> torch.Tensor:
        covered = 0
        padded = list(segments)
        for first, after, label in padded:
            fits = first == covered < after <= min(first + self.longest, self.n)
            if not fits or not 0 <= label < self.k:
                raise StructureError(
                    f"segments must follow each other from position 0 on, with at most "
                    f"{self.longest} of {self.n} positions and labels from 0 to {self.k - 1}; got "
                    f"{shortened(segments)}"
                )
            covered = after
        if not padded:
            raise StructureError("an instance must have at least one segment; got none")
        padded += [(place, place + 1, 0) for place in range(covered, self.n)]
        z = torch.zeros(self.dimension)
        entries, tables, start, end = self.parts(z)  # views of z
        for first, after, label in padded:
            entries[first, after - first - 1, label] = 1
        for (_, boundary, label), (_, _, other) in pairwise(padded):
            tables[boundary - 1, label, other] = 1
        start[padded[0][2]] = 1
        end[padded[-1][2]] = 1
        return z


def _paths(n: int, k: int, longest: int) -> Paths:
    """Return the paths that are segmentations.

    A path goes from the source to (0, a), "label a starts at 0", to "label a has ended before i",
    to (i, b), "label b starts at i", and so on to the target. Segments that would end beyond n lead
    to a node without exit, and are on no path.
    """
    first, duration, label = np.meshgrid(
        np.arange(n), np.arange(1, longest + 1), np.arange(k), indexing="ij"
    )
    starts = 2 + first * k + label
    after = first + duration
    nowhere = 2 + 2 * n * k
    ends = np.where(after <= n, 2 + n * k + (after - 1) * k + label, nowhere)
    segments = np.stack([starts, ends], axis=-1).reshape(-1, 2)
    boundary, before, behind = np.meshgrid(
        np.arange(1, n), np.arange(k), np.arange(k), indexing="ij"
    )
    tails = 2 + n * k + (boundary - 1) * k + before
    heads = 2 + boundary * k + behind
    transitions = np.stack([tails, heads], axis=-1).reshape(-1, 2)
    labels = np.arange(k)
    from_source = np.stack([np.zeros(k, np.int64), 2 + labels], axis=-1)
    to_target = np.stack([2 + n * k + (n - 1) * k + labels, np.ones(k, np.int64)], axis=-1)
    arcs = np.concatenate([segments, transitions, from_source, to_target])
    return Paths(arcs.astype(np.int64), source=0, target=1)
