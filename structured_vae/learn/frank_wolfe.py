"""Max-margin learning of a linear model by block-coordinate Frank-Wolfe.

min_w 1/2 |w|^2 + C sum_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)], where L counts the
labels that differ.

A step asks for the most violating labels of one instance and moves its dual variables, a mixture of
labels, towards them as far as is best. The mixture is kept as indicators by place and pair. Labels
of a batch are found for the same weights, in one call; a step with labels that are no longer the
most violating ones still goes as far as is best, which may be nowhere.

References:
    Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), Block-coordinate Frank-Wolfe optimization for
    structural SVMs, algorithm 4 and section 5; averages of appendix F.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .decoding import Solver, augmented, decode, solve_group
from .instances import Group, Instances, Weights, indicators
from .likelihood import Fitted


@dataclass(frozen=True)
class FrankWolfe:
    """How to search.

    Attributes:
        C: of the losses beside the penalty.
        tol: it ends when the duality gap is at most `tol` times the objective.
        max_iter: most passes over the instances.
        batch_size: instances whose labels are asked for at once.
        solver: of `solvers.labels`.
        time_limit: seconds for each instance, for solvers that can stop early.
        check: passes from one measurement of the gap to the next, which costs as much as a pass.
    """

    C: float
    tol: float
    max_iter: int
    batch_size: int
    solver: Solver = "auto"
    time_limit: float | None = None
    check: int = 5

    def fit(
        self, instances: Instances, labels: np.ndarray, k: int, random: np.random.Generator
    ) -> Fitted:
        """The averaged weights, when the gap is small enough or passes have run out."""
        dual = _Dual.start(instances, labels, k, self.C)
        for n_iter in range(1, self.max_iter + 1):
            self._pass(dual, random)
            if n_iter % self.check == 0 or n_iter == self.max_iter:
                fitted = self._measured(dual, n_iter)
                if fitted.converged:
                    break
        return fitted

    def _pass(self, dual: _Dual, random: np.random.Generator) -> None:
        """Every instance once, in another order each time."""
        for group in _shuffled(dual.instances, self.batch_size, random):
            unary, tables = dual.scores(group)
            own = Group(group.edges, np.arange(len(group.members)), *_renumbered(group))
            found = solve_group(
                own, unary, tables, dual.weights.pairs[0], self.solver, self.time_limit
            ).labels
            for places, pairs, violating in zip(group.places, group.pairs, found, strict=True):
                dual.step(group.edges, places, pairs, violating)

    def _measured(self, dual: _Dual, n_iter: int) -> Fitted:
        """The averaged weights with their duality gap, which holds where a solver stopped short of its proof, too."""
        weights, instances = dual.average, dual.instances
        worst = decode(instances, weights, self.solver, self.time_limit, away_from=dual.truth)
        vector = weights.vector()
        violation = worst.bound.sum() - vector @ dual.observed.vector()
        objective = 0.5 * vector @ vector + self.C * max(0.0, float(violation))
        gap = objective - (dual.average_loss - 0.5 * vector @ vector)
        return Fitted(
            weights, n_iter, bool(gap <= self.tol * objective), float(objective), float(gap)
        )


@dataclass(eq=False)
class _Dual:
    """Where the search stands.

    Attributes:
        instances: x.
        truth: `[places]`.
        C: of the losses.
        observed: the features as often as the true labels have them.
        places: `[places, k]`, indicators of the truth less those of the mixtures.
        pairs: `[pairs, k, k]`, likewise.
        weights: C times the features as often as `places` and `pairs` have them.
        loss: C times the expected loss of the mixtures.
        average: of the weights of all steps, the later ones weighing more.
        average_loss: likewise.
        steps: so far.
    """

    instances: Instances
    truth: np.ndarray
    C: float
    observed: Weights
    places: np.ndarray
    pairs: np.ndarray
    weights: Weights
    loss: float
    average: Weights
    average_loss: float
    steps: int

    @classmethod
    def start(cls, instances: Instances, truth: np.ndarray, k: int, C: float) -> _Dual:  # noqa: N803
        """Mixtures of the true labels alone, so that weights are zero."""
        places, pairs = indicators(instances, truth, k)
        observed = Weights.of_statistics(instances, places, pairs)
        zeros, average = Weights.zeros(instances, k), Weights.zeros(instances, k)
        return cls(
            instances, truth, C, observed, 0 * places, 0 * pairs, zeros, 0.0, average, 0.0, 0
        )

    def scores(self, group: Group) -> tuple[np.ndarray, np.ndarray | None]:
        """`[batch n, k]` and `[batch e, k, k]`: of a batch, every label but the true one being worth one more."""
        rows = group.places.ravel()
        unary = np.asarray(self.instances.features[rows] @ self.weights.places)
        tables, features = None, self.instances.pair_features
        if features is not None:
            flat = np.asarray(
                features[group.pairs.ravel()]
                @ self.weights.pairs.reshape(len(self.weights.pairs), -1)
            )
            tables = flat.reshape(-1, self.weights.k, self.weights.k)
        return augmented(unary, self.truth[rows]), tables

    def step(
        self, edges: np.ndarray, places: np.ndarray, pairs: np.ndarray, labels: np.ndarray
    ) -> None:
        """Moves the mixture of one instance towards labels `[n]`, and the averages after it."""
        k, truth = self.weights.k, self.truth[places]
        corner, of_pairs = np.zeros((len(places), k)), np.zeros((len(pairs), k, k))
        each, edge = np.arange(len(places)), np.arange(len(pairs))
        corner[each, truth] += 1
        corner[each, labels] -= 1
        if len(pairs):
            first, second = edges.T
            of_pairs[edge, truth[first], truth[second]] += 1
            of_pairs[edge, labels[first], labels[second]] -= 1
        to_places, to_pairs = corner - self.places[places], of_pairs - self.pairs[pairs]
        change = self._features_of(places, pairs, to_places, to_pairs)
        loss = self.C * float((labels != truth).sum() - self.places[places, truth].sum())
        size = self._best_size(change, loss)
        if size > 0:
            self.places[places] += size * to_places
            self.pairs[pairs] += size * to_pairs
            self.weights.places[...] += size * change.places
            self.weights.pairs[...] += size * change.pairs
            self.loss += size * loss
        self._average()

    def _features_of(
        self, places: np.ndarray, pairs: np.ndarray, to_places: np.ndarray, to_pairs: np.ndarray
    ) -> Weights:
        """C times the features of one instance, each as often as indicators have it."""
        k, features = self.weights.k, self.instances.pair_features
        of_places = np.asarray(self.instances.features[places[0] : places[-1] + 1].T @ to_places)
        if features is None:
            of_pairs = to_pairs.sum(axis=0, keepdims=True)
        elif len(pairs):
            rows = features[pairs[0] : pairs[-1] + 1]
            of_pairs = np.asarray(rows.T @ to_pairs.reshape(len(pairs), -1)).reshape(-1, k, k)
        else:
            of_pairs = np.zeros_like(self.weights.pairs)
        return Weights(self.C * of_places, self.C * of_pairs)

    def _best_size(self, change: Weights, loss: float) -> float:
        """From 0 to 1: the dual is a parabola along the change."""
        square = (change.places**2).sum() + (change.pairs**2).sum()
        slope = (
            loss
            - (change.places * self.weights.places).sum()
            - (change.pairs * self.weights.pairs).sum()
        )
        if square == 0:
            return float(slope > 0)
        return float(np.clip(slope / square, 0.0, 1.0))

    def _average(self) -> None:
        share = 2 / (self.steps + 2)
        for average, own in (
            (self.average.places, self.weights.places),
            (self.average.pairs, self.weights.pairs),
        ):
            average += share * (own - average)
        self.average_loss += share * (self.loss - self.average_loss)
        self.steps += 1


def _shuffled(instances: Instances, size: int, random: np.random.Generator) -> list[Group]:
    """Batches of all instances, members and batches in random order."""
    batches = []
    for group in instances.groups:
        order = random.permutation(len(group.members))
        mixed = Group(group.edges, group.members[order], group.places[order], group.pairs[order])
        batches += list(mixed.batches(size))
    return [batches[place] for place in random.permutation(len(batches))]


def _renumbered(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Places and pairs of a batch whose scores were taken out of all."""
    return tuple(np.arange(part.size).reshape(part.shape) for part in (group.places, group.pairs))  # type: ignore[return-value]
