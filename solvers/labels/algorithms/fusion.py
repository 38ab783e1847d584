"""Change any number of labels at once, by moves that a minimum cut finds.

A move is the best mixture of two labellings.

Each variable keeps its label (z = 0) or takes that of a proposal (z = 1). For an edge with the
scores A (0, 0), B (0, 1), C (1, 0) and D (1, 1), the cut needs A + D >= B + C. If that fails, B is
lowered until it holds. So a move may miss better labels, but it never makes them worse. A proposal
of one label for all variables is an expansion. A proposal that exchanges two labels is a swap. A
proposal that moves labels up or down their range is a jump.

References:
    Boykov, Veksler, Zabih (2001), Fast approximate energy minimization via graph cuts.
    Rother, Kumar, Kolmogorov, Blake (2005), Digital tapestry: the truncation of what is not
    submodular. Lempitsky, Rother, Roth, Blake (2010), Fusion moves for Markov random field
    optimization. Veksler (2007), Graph cut based optimization for MRFs with truncated convex
    priors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, cycle

import numpy as np

from ...algorithms.max_flow.sparse import sparse_argmax
from ...compiled._kernels import labels as kernels
from ...compiled.plain import plain
from ...limits.deadline import Deadline
from ...limits.progress import Known
from .dual_ascent.graph import IMPOSSIBLE, graph_of, score_of
from .whole_scores import WholeScores

CUT_BITS = 60
"""Maximum bits of the sum of all whole scores of a cut."""

SWAPPED = 20
"""Maximum number of values for which all pairs are swapped."""


Move = Callable[[np.ndarray], np.ndarray]
"""A function that returns a proposal `[n]` for labels `[n]`."""


def fused_until(scores: WholeScores, labels: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Return labels `[n]` that no expansion, swap or jump improves.

    If the deadline comes first, return the best labels so far.

    Args:
        scores: the scores of the instance.
        labels: `[n]`, initial labels; forbidden labels are returned unchanged.
        deadline: time at which the moves stop.
    """
    fusion = Fusion(scores, labels)
    moves = moves_of(scores)
    tried = 0
    for move in cycle(moves):
        # After a whole round of moves without an improvement, the labels are a local optimum.
        if tried == len(moves) or deadline.passed:
            break
        if fusion.improved(move(fusion.labels), deadline):
            tried = 0
        else:
            tried += 1
        deadline.tell(lambda: Known.of(fusion.labels))
    return fusion.labels


def moves_of(scores: WholeScores) -> list[Move]:
    """Return expansions; for tables also jumps by powers of two, and swaps of few values."""
    allowed = scores.unary > IMPOSSIBLE
    k = scores.unary.shape[1]
    variables = np.arange(len(allowed))

    def where_allowed(labels: np.ndarray, proposal: np.ndarray) -> np.ndarray:
        inside = np.clip(proposal, 0, k - 1)
        return np.where(allowed[variables, inside], inside, labels)

    def expansion(a: int, labels: np.ndarray) -> np.ndarray:
        return where_allowed(labels, np.full_like(labels, a))

    def jump(by: int, labels: np.ndarray) -> np.ndarray:
        return where_allowed(labels, labels + by)

    def swap(a: int, b: int, labels: np.ndarray) -> np.ndarray:
        return where_allowed(labels, np.where(labels == a, b, np.where(labels == b, a, labels)))

    moves: list[Move] = [partial(expansion, a) for a in range(k)]
    if len(scores.tables.weights):
        return moves
    # Powers of two reach every value within a few jumps.
    jumps = [sign << bits for bits in range((k - 1).bit_length()) for sign in (1, -1)]
    swapped = 0
    if k <= SWAPPED:
        swapped = k
    swaps = combinations(range(swapped), 2)
    return [*(partial(jump, by) for by in jumps), *moves, *(partial(swap, a, b) for a, b in swaps)]


class Fusion:
    """Labels that are mixed with proposals if that improves their score.

    Attributes:
        labels: `[n]`.
    """

    def __init__(self, scores: WholeScores, labels: np.ndarray):
        """Begin with labels `[n]`."""
        self.labels = labels
        self._scores = scores
        self._graph = graph_of(scores)
        self._best = score_of(scores, self._graph, labels)
        self._shift = max(
            0, 58 + int(len(scores.tables.pairs) + len(labels)).bit_length() - CUT_BITS
        )

    def improved(self, proposal: np.ndarray, deadline: Deadline) -> bool:
        """Mix in a proposal `[n]`, and return whether the labels improved."""
        scores = self._scores
        pairs = self._scores.tables.pairs
        if self._best <= IMPOSSIBLE or (proposal == self.labels).all():
            return False
        least = 2 * scores.least - 1  # so low that no other scores compensate it
        unary = np.empty(len(self.labels), np.int64)
        pairwise = np.empty(len(pairs), np.int64)
        labels = (
            np.ascontiguousarray(self.labels, np.int64),
            np.ascontiguousarray(proposal, np.int64),
        )
        graph = plain(scores.unary), self._graph, plain(pairs)
        kernels.fill_move(*graph, *labels, least, self._shift, unary, pairwise)
        with deadline.flag() as stop:
            z, _ = sparse_argmax(unary[None], pairwise[None], pairs, 1, stop)
        mixed = np.where(z[0] > 0, proposal, self.labels)
        # The mixture is scored again, and only a real improvement is kept.
        reached = score_of(scores, self._graph, mixed)
        if reached <= self._best:
            return False
        self.labels = mixed
        self._best = reached
        return True
