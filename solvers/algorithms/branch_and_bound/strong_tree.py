"""Best-first branch and bound for dense problems, with triangle inequalities.

The semidefinite relaxation with triangle inequalities bounds a node. That takes some hundred times
as long as a bound of the depth-first search. A node inherits vectors, inequalities and multipliers
from its parent. Each node that stays open is given to the depth-first search, which adds these
inequalities to the score; the node is branched on if that search does not end soon.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ...compiled._kernels import branch_and_bound as kernels
from ...compiled.best import Best, take
from ...limits.deadline import Deadline
from ...limits.progress import Tell
from .tree import PLAIN, Incumbent, Lagrangian, Tree

ROUNDOFF = 2.0**-53
SIGNS: np.ndarray = np.array(
    [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
)
"""Signs of X_ij, X_ik and X_jk in the four kinds of triangle inequalities, as in `low_rank.hpp`."""

ROUNDS = 60  # updates of the multipliers in a node
ROOT_ROUNDS = 40  # updates before the root may be given up; it begins with no inequalities
PATIENCE = 3  # updates before another node may be given up
PROBE = 1000  # nodes of a depth-first search that may finish a node
SLICE = 200  # nodes of it between two looks at the time
FALL = 0.9  # of the gap of a node that was not finished: children with a larger one are not tried
STEP = 0.015  # of the multipliers at a level, in units of the scale
LEAF = 24  # free variables up to which the depth-first search finishes a node in any case
MOST_OPEN = 5000  # nodes; beyond that the search goes deeper first, so that memory is bounded
ELSEWHERE = np.int8(2)  # marks a state that is not below a node, in place of its values
NEARLY_FIXED = 0.95  # |X_0i| beyond which a variable is not worth branching on


@dataclass(frozen=True, order=True)
class Node:
    """An open node, with the bound and the relaxation of its parent."""

    priority: float  # the negative bound
    number: int
    # [n + 1] int8: +1 and -1 if fixed, else 0; the first one is the constant
    spins: np.ndarray = field(compare=False)
    points: np.ndarray = field(compare=False)  # [r, n + 1] float32
    inequalities: np.ndarray = field(compare=False)  # [c, 4] int16
    multipliers: np.ndarray = field(compare=False)  # [c]


class StrongTree:
    """The best-first search tree of one instance, whose scores are whole numbers.

    Args:
        unary: `[n]`.
        pairwise: `[n, n]`, symmetric, with a zero diagonal.
        incumbent: the best states so far; the search updates it.
        bound: an upper bound on all scores.
    """

    def __init__(
        self, unary: np.ndarray, pairwise: np.ndarray, incumbent: Incumbent, bound: float
    ) -> None:
        size = len(unary) + 1
        self._unary = unary
        self._pairwise = pairwise
        self._incumbent = incumbent
        self._lower = np.tril(pairwise)
        # With x_i = (1 + s_i) / 2, spin 0 is the constant 1, and the unary scores are couplings
        # to it.
        self._couplings = np.zeros((size, size))
        self._couplings[1:, 1:] = pairwise / 4
        self._couplings[0, 1:] = self._couplings[1:, 0] = unary / 2 + pairwise.sum(axis=0) / 4
        self._constant = float(unary.sum() / 2 + pairwise.sum() / 8)
        # Rounding of sums over fixed nodes, which may be large beside the sums over free ones.
        self._rounding = 8.0 * size * ROUNDOFF * float(np.abs(unary).sum() + np.abs(pairwise).sum())
        self._scale = float(np.abs(self._couplings).sum()) / size**1.5
        # The rank is above sqrt(2 size), at which the problem without inequalities loses nothing.
        rank = 4 * math.ceil(0.8 * math.sqrt(size))
        room = 40 * size + 4000
        self._relaxation = kernels.Relaxation(size, rank, room)
        self._reach = math.inf  # gap that a probe can probably close
        self._random = np.random.default_rng(0)
        points = self._random.standard_normal((rank, size)).astype(np.float32)
        spins = np.zeros(size, np.int8)
        # Node 0 stands for the constant: its spin is never branched on.
        spins[0] = 1
        self._open = [Node(-bound, 0, spins, points, np.zeros((0, 4), np.int16), np.zeros(0))]
        self._deeper: list[Node] = []
        self.nodes = 0

    @property
    def is_open(self) -> bool:
        """Whether a node is open."""
        return bool(self._open or self._deeper)

    @property
    def open_bounds(self) -> np.ndarray:
        """`[nodes]`, an upper bound on the scores of each open node's states."""
        return np.array([-node.priority for node in (*self._open, *self._deeper)])

    def bound_root(self, deadline: Deadline) -> Lagrangian:
        """Bound the root, and return inequalities for a depth-first search of all states."""
        (root,) = self._open
        self.nodes += 1
        kept = np.arange(len(root.spins))
        with deadline.flag() as stop:
            bound = min(-root.priority, self._bound(root, kept, stop))
        self._round(root.spins, kept)
        self._open = []
        if not self._prune(bound):
            self._open = [replace(self._heir(root, kept), priority=-bound)]
        return self._lagrangian

    def search(
        self, deadline: Deadline, news: Tell | None = None, soon: Deadline | None = None
    ) -> None:
        """Search until no node is open or the deadline passes, and report `news` between nodes.

        Args:
            deadline: interrupts the bound of a node too, which is then worse than it could be.
            news: what to report.
            soon: after this time the search ends with the node that it handles.
        """
        with deadline.flag() as stop:
            while self.is_open and not stop[0]:
                if news is not None:
                    deadline.tell(news)
                if self._deeper:
                    node = self._deeper.pop()
                else:
                    node = heapq.heappop(self._open)
                for child in self._handle(node, stop):
                    # Beyond MOST_OPEN nodes the search goes depth
                    # first, which keeps few nodes in memory.
                    if len(self._open) < MOST_OPEN:
                        heapq.heappush(self._open, child)
                    else:
                        self._deeper.append(child)
                if soon is not None and soon.passed:
                    break

    def _handle(self, node: Node, stop: np.ndarray) -> Iterator[Node]:
        """Yield the children of a node, or the node itself if it was interrupted."""
        self.nodes += 1
        free = np.flatnonzero(node.spins == 0)
        # The bound of the parent may be enough by now, since the incumbent rises in the meantime.
        if self._prune(-node.priority):
            return
        if len(free) <= LEAF:
            if self._search_depth_first(node.spins, free, 1 << 60, stop, PLAIN) > -math.inf:
                yield node
            return
        kept = np.concatenate(([0], free))
        # The bound of the parent holds for the child, whose own relaxation may be stopped early.
        bound = min(-node.priority, self._bound(node, kept, stop))
        # Round before pruning: a better incumbent may prune this very node.
        self._round(node.spins, kept)
        if self._prune(bound):
            return
        bound = min(bound, self._probe(node.spins, free, bound, stop))
        if bound == -math.inf:
            return
        heir = self._heir(node, kept)
        branch = kept[self._branch_node()]
        for number, value in enumerate((1, -1)):
            spins = node.spins.copy()
            spins[branch] = value
            yield replace(heir, priority=-bound, number=2 * self.nodes + number, spins=spins)

    def _heir(self, node: Node, kept: np.ndarray) -> Node:
        """Return a node with the vectors and multipliers of the relaxation, for its children."""
        points = node.points.copy()
        points[:, kept] = self._relaxation.points
        inequalities = self._relaxation.inequalities
        # Children keep fewer nodes, so inequalities are stored in the numbers of the whole problem.
        inequalities[:, :3] = kept[inequalities[:, :3]]
        multipliers = self._relaxation.multipliers
        return replace(node, points=points, inequalities=inequalities, multipliers=multipliers)

    @property
    def _lagrangian(self) -> Lagrangian:
        """The inequalities of the relaxation, in its numbers of the free variables."""
        relaxation = self._relaxation
        return Lagrangian(relaxation.inequalities, relaxation.multipliers, STEP * self._scale)

    def _prune(self, bound: float) -> bool:
        """Return whether a node with this bound is pruned, and record the bound if it is."""
        if bound > self._incumbent.best.scores[-1] + self._incumbent.margin:
            return False
        self._incumbent.ceiling[0] = max(self._incumbent.ceiling[0], bound)
        return True

    def _bound(self, node: Node, kept: np.ndarray, stop: np.ndarray) -> float:
        """Load a node into the relaxation and return its bound."""
        # Fixed spins become a constant and couplings to node 0, whose spin is 1.
        fixed = np.flatnonzero(node.spins)
        spins = node.spins[fixed].astype(np.float64)
        constant = self._constant + 0.5 * float(
            spins @ self._couplings[np.ix_(fixed, fixed)] @ spins
        )
        couplings = self._couplings[np.ix_(kept, kept)]
        couplings[0, 1:] = couplings[1:, 0] = spins @ self._couplings[np.ix_(fixed, kept[1:])]
        # A node that falls below this is pruned, so the relaxation need not go lower.
        threshold = float(self._incumbent.best.scores[-1]) + self._incumbent.margin
        patience = PATIENCE
        if not len(node.multipliers):
            patience = ROOT_ROUNDS
        return float(
            self._relaxation.tighten(
                couplings,
                constant + self._rounding,
                node.points[:, kept].astype(np.float64, order="C"),
                *_restricted(node, kept),
                self._scale,
                threshold,
                patience,
                ROUNDS,
                stop,
            )
        )

    def _round(self, spins: np.ndarray, kept: np.ndarray) -> None:
        """Offer states from the signs of the vectors, each after the single flips that gain."""
        vectors = self._relaxation.vectors
        state = np.zeros(len(spins))
        state[spins > 0] = 1.0
        # Two roundings: along the vector of the constant, and along a random direction.
        for direction in (vectors[:, 0], self._random.standard_normal(len(vectors))):
            along = direction @ vectors
            # A spin on the same side as node 0 is a 1.
            state[kept] = (along >= 0.0) == (along[0] >= 0.0)
            z = state[1:].copy()
            # The flips may leave the node, since any state may become the incumbent.
            field = self._unary + self._pairwise @ z
            while (gains := (1.0 - 2.0 * z) * field).max() > 0.0:
                flip = int(np.argmax(gains))
                field += (1.0 - 2.0 * z[flip]) * self._pairwise[flip]
                z[flip] = 1.0 - z[flip]
            take(self._incumbent.best, self._score(z), z.astype(np.int8))

    def _score(self, z: np.ndarray) -> float:
        """Return the score of a state `[n]`; it is exact, and every pair counts once."""
        return float(self._unary @ z + z @ (self._lower @ z))

    def _branch_node(self) -> int:
        """Return the node whose products are nearest to +1 or -1, preferring long fields."""
        gram = np.tril(self._relaxation.gram, -1)
        gram += gram.T
        distance = ((1 - np.abs(gram)) ** 2).sum(axis=0)[1:]
        lengths = np.sqrt((self._relaxation.field[:, 1:] ** 2).sum(axis=0))
        distance /= np.sqrt(np.maximum(lengths, np.finfo(float).tiny))
        return 1 + int(np.argmin(distance + 1e300 * (np.abs(gram[0, 1:]) > NEARLY_FIXED)))

    def _probe(self, spins: np.ndarray, free: np.ndarray, bound: float, stop: np.ndarray) -> float:
        """Try a depth-first search if one is likely to end; return a bound on what is left."""
        gap = bound - float(self._incumbent.best.scores[-1])
        if gap > self._reach:
            return bound
        left = self._search_depth_first(spins, free, PROBE, stop, self._lagrangian)
        if left == -math.inf:
            self._reach = max(self._reach, gap / FALL)
        else:
            self._reach = FALL * gap
        return left

    def _search_depth_first(
        self,
        spins: np.ndarray,
        free: np.ndarray,
        budget: int,
        stop: np.ndarray,
        lagrangian: Lagrangian,
    ) -> float:
        """Search the free variables of a node, numbered from 1.

        Returns:
            A bound on the states that are not searched yet; minus infinity if none are left.
        """
        state = (spins[1:] > 0).astype(np.float64)
        places = free - 1
        constant = self._score(state)
        unary = self._unary[places] + self._pairwise[places] @ state
        pairwise = self._pairwise[np.ix_(places, places)]
        best = self._best_below(state, places, constant)
        below = Incumbent(best, self._incumbent.margin, np.full(1, -np.inf))
        tree = Tree(unary, pairwise, below, stop, lagrangian)
        while tree.is_open and tree.nodes < budget and not stop[0]:
            tree.run(SLICE)
        self.nodes += tree.nodes
        self._incumbent.ceiling[0] = max(self._incumbent.ceiling[0], below.ceiling[0] + constant)
        whole = state.astype(np.int8)
        for score, place in zip(below.best.scores, below.best.places, strict=True):
            # A state marked ELSEWHERE lies outside this node, and the incumbent has it already.
            if below.best.states[place, 0] != ELSEWHERE:
                whole[places] = below.best.states[place]
                take(self._incumbent.best, score + constant, whole)
        if not tree.is_open:
            return -math.inf
        return math.nextafter(float(tree.open_bounds.max()) + constant, math.inf)

    def _best_below(self, state: np.ndarray, places: np.ndarray, constant: float) -> Best:
        """Return the best states restricted to the variables `places`, less the others' score.

        The other variables are as in `state [n]`. Best states that differ from it there contribute
        only their scores.
        """
        scores, order, states = self._incumbent.best
        others = np.ones(len(state), bool)
        others[places] = False
        elsewhere = (states[:, others] != state[others]).any(axis=1)
        below = np.where(elsewhere[:, None], ELSEWHERE, states[:, places])
        return Best(scores - constant, order.copy(), np.ascontiguousarray(below))


def _restricted(node: Node, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inequalities and multipliers of a node in the numbers of `kept`.

    Fixed nodes are merged into the first one.
    """
    if not len(node.multipliers):
        return node.inequalities, node.multipliers
    place = np.zeros(len(node.spins), np.int64)
    place[kept] = np.arange(len(kept))
    # A product of two spins in an inequality takes on the sign of the fixed ones.
    spins = np.where(node.spins == 0, 1, node.spins).astype(np.float64)[node.inequalities[:, :3]]
    signs = SIGNS[node.inequalities[:, 3]] * spins[:, [0, 0, 1]] * spins[:, [1, 2, 2]]
    corners = place[node.inequalities[:, :3]]
    # Two fixed corners leave a constant. Dropping it is safe: multipliers only start the ascent.
    proper = (corners == 0).sum(axis=1) <= 1
    corners = corners[proper]
    signs = signs[proper]
    multipliers = node.multipliers[proper]
    order = np.argsort(-corners, axis=1, kind="stable")
    corners = np.take_along_axis(corners, order, axis=1)
    # The sign of a pair stands at 2 - (the place of the third corner).
    signs = np.take_along_axis(signs, 2 - order[:, ::-1], axis=1)
    kinds = np.argmax(np.where(signs > 0, np.array([3, 2, 1]), 0), axis=1)
    kinds = np.where((signs > 0).all(axis=1), 0, kinds + 1)
    keys = np.ravel_multi_index((*corners.T, kinds), (len(kept),) * 3 + (4,))
    # Inequalities that now coincide become one, and their multipliers add up.
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    merged = np.column_stack((corners, kinds))[first].astype(np.int16)
    # `bincount` of nothing gives whole numbers, hence the cast.
    return merged, np.bincount(groups, multipliers, len(first)).astype(np.float64)
