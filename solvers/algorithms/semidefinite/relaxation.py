"""The relaxation with odd cycles, by an augmented Lagrangian, with bounds that are proved.

The inequality of a cycle is h(x) = |F| - 1 - x(F) + x(C - F) >= 0 (`cycle_cuts.certificate`). For
multipliers y and a penalty p the vectors increase

    w x - 1 / (2 p) sum_k (max(0, y_k - p h_k)^2 - y_k^2),

and then y_k becomes max(0, y_k - p h_k).

References:
    Helmberg, Rendl (1998), Solving quadratic (0,1)-problems by semidefinite programs and cutting
    planes.
    Burer, Monteiro, Zhang (2002), Maximum stable set formulations and heuristics based on
    continuous optimization (the augmented Lagrangian).
"""

from __future__ import annotations

import math

import numpy as np

from ...limits.deadline import Deadline
from ..cycle_cuts.certificate import Certificate, Cycles
from ..cycle_cuts.max_cut import MaxCut
from ..cycle_cuts.separation import Graph, shortest_cycles, tree_cycles
from .certificate import proved_diagonal, weight_bound
from .chords import chords
from .vectors import Vectors

PENALTY = 2.0
"""Penalty p, for weights of mean magnitude 1."""

STEPS = 20
"""Steps of the vectors between two updates of the multipliers."""

MORE_STEPS = 60
"""Steps of the vectors for fixed multipliers before a bound is proved."""

ADDED = 4
"""Maximum number of inequalities that a separation adds, per vertex."""

USED = 1e-6
"""Least multiplier that keeps an inequality, for weights of mean magnitude 1."""

NANOSECONDS = 0.3
"""Approximate time of a proof, per vertices^3."""

CUT_DEGREE = 24
"""Greatest mean degree at which odd cycles of the graph tighten the bound noticeably."""

SEPARATION_WORK = 1 << 22
"""Shortest paths of a separation, times pairs: about a tenth of a second."""


class Relaxation:
    """The relaxation of a maximum cut, which can be stopped and resumed.

    Attributes:
        cut: the problem, with at least one edge.
        bound: an upper bound on the weight of all cuts, proved.
        cycles: the odd-cycle inequalities.
        has_cycles: whether the graph is sparse enough for them, and the last separation left any.
        has_chords: whether cycles may use chords.
    """

    def __init__(self, cut: MaxCut) -> None:
        """Start with random vectors and without inequalities."""
        self.cut = cut
        self.bound = cut.rounded_down(int(cut.weights[cut.weights > 0].sum()))
        self.cycles = Cycles.none()
        self.has_cycles = len(cut.weights) <= CUT_DEGREE / 2 * cut.vertices
        self.has_chords = False
        self._generator = np.random.default_rng(0)
        self._graph = Graph.of(cut.vertices, cut.edges)
        self._vectors = Vectors(cut.vertices, cut.edges)
        self._whole = cut.weights
        # A power of two, so that dividing by it is exact.
        self._unit = 2.0 ** math.frexp(float(np.abs(cut.weights).mean()))[1]
        self._weights = self._whole / self._unit
        self._multipliers = np.empty(0)

    def add_chords(self) -> None:
        """Let cycles use chords, pairs without weight, so that more of them are triangles."""
        self.has_chords = True
        edges = self.cut.edges
        pairs = np.concatenate((edges, chords(self.cut.vertices, edges)))
        values = self._vectors.values
        self._graph = Graph.of(self.cut.vertices, pairs)
        self._vectors = Vectors(self.cut.vertices, pairs)
        # A chord has no weight, so the vectors have the same value as before.
        self._vectors.values = values
        self._whole = np.append(self.cut.weights, np.zeros(len(pairs) - len(edges), np.int64))
        self._weights = self._whole / self._unit

    def tighten(self, deadline: Deadline) -> None:
        """Add violated cycles, move the vectors, and update the multipliers."""
        if self.has_cycles:
            self._separate(deadline)
        self._vectors.values = self._vectors.ascended(self._lagrangian, STEPS, deadline)
        self._multipliers = self._updated(self._vectors.x(self._vectors.values))

    def prove(self, deadline: Deadline) -> None:
        """Lower the bound, if the multipliers prove a lower one and there is time for a proof."""
        # A proof factorises a matrix, n^3 work that
        # cannot be stopped: it starts only if it can end.
        if 1e-9 * NANOSECONDS * self.cut.vertices**3 > deadline.left:
            return
        multipliers = self._multipliers * self._unit
        certificate = Certificate.of(self._whole, self.cycles, multipliers)
        unit = self._unit * certificate.scale
        # Rounding the multipliers has changed the weights
        # a little, so the vectors ascend a bit more.
        weights = certificate.residual / unit
        values = self._vectors.ascended(
            lambda x: (float(weights @ x), weights), MORE_STEPS, deadline
        )
        lengths = self._vectors.lengths(weights, values)
        diagonal = proved_diagonal(self._vectors.matrix(weights), lengths)
        if diagonal is not None:
            proved = weight_bound(certificate, weights, unit, diagonal)
            self.bound = min(self.bound, self.cut.rounded_down(proved))
        # Without cycles these weights are those of the
        # relaxation itself, so the better vectors stay.
        if not len(self.cycles):
            self._vectors.values = values

    def _separate(self, deadline: Deadline) -> None:
        """Drop cycles without multiplier, and add violated ones."""
        # An inequality whose multiplier is 0 does not lower the bound.
        kept = np.flatnonzero(self._multipliers > USED)
        self.cycles = self.cycles.take(kept)
        self._multipliers = self._multipliers[kept]
        # Rounding may leave [0, 1], which the separation takes as lengths.
        x = np.clip(self._vectors.x(self._vectors.values), 0.0, 1.0)
        with deadline.flag() as stop:
            violated = tree_cycles(self._graph, x, stop)
            # Exact separation costs a search per source; so many sources fit the work.
            count = max(1, SEPARATION_WORK // len(self._whole))
            sources = self._generator.permutation(self.cut.vertices)[:count]
            exact = shortest_cycles(self._graph, x, sources, stop)
        most = ADDED * self.cut.vertices
        self.has_cycles = bool(len(violated.cycles) + len(exact.cycles) + len(self.cycles))
        # Exact cycles first, since they are the most violated ones.
        for more in (exact.best(most), violated.best(most)):
            self.cycles = self.cycles.joined(more.cycles)
            self._multipliers = np.append(self._multipliers, np.zeros(len(more.cycles)))

    def _updated(self, x: np.ndarray) -> np.ndarray:
        """Return the multipliers max(0, y - p h) at x."""
        slack = self.cycles.right_sides - self.cycles.activity(x)
        return np.asarray(np.maximum(0.0, self._multipliers - PENALTY * slack))

    def _lagrangian(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the augmented Lagrangian and its slopes `[m]` at x."""
        updated = self._updated(x)
        squares = updated @ updated - self._multipliers @ self._multipliers
        value = float(self._weights @ x - squares / (2 * PENALTY))
        terms = self.cycles.signs * np.repeat(updated, self.cycles.lengths)
        slopes = self._weights - np.bincount(self.cycles.edges, terms, len(x))
        return value, slopes
