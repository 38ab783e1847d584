"""Max-margin learning of a linear model by block-coordinate Frank-Wolfe.

min_w 1/2 |w|^2 + C sum_i v_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)], where L counts
the labels that differ, weighted by node, and v_i is the weight of an instance.

The dual variables of an instance are a mixture of labellings, stored as indicators per node and
per pair. A step finds the most violating labels of one instance, and moves the mixture towards
them with the best step size. The labels of a batch are found in one call, for the same weights.
They may no longer be the most violating ones when their step comes; the best size of such a step
is smaller, possibly 0.

References:
    Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), Block-coordinate Frank-Wolfe optimization for
    structural SVMs, algorithm 4 and section 5; averages of appendix F.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .decoding import HammingLoss, Solver, decode, solve_group
from .instances import Group, Instances, Weights, indicators, statistics
from .likelihood import Fit
from .scope import EVERYTHING, Scope


@dataclass(frozen=True)
class FrankWolfe:
    """The settings of a search by block-coordinate Frank-Wolfe.

    Attributes:
        C: weight of the losses relative to the penalty.
        tol: the search stops when the duality gap is at most `tol` times the objective.
        max_iter: maximum number of passes over the instances.
        batch_size: number of instances that are decoded in one call.
        solver: a solver of `solvers.labels`.
        time_limit: seconds for each instance, for solvers that can stop early.
        check: number of passes between two measurements of the gap, which cost as much as a pass.
    """

    C: float
    tol: float
    max_iter: int
    batch_size: int
    solver: Solver = "auto"
    time_limit: float | None = None
    check: int = 5

    def fit(
        self,
        instances: Instances,
        loss: HammingLoss,
        k: int,
        random: np.random.Generator,
        scope: Scope = EVERYTHING,
    ) -> Fit:
        """Search until the gap is small enough or `max_iter` is reached; return average weights.

        Args:
            instances: x.
            loss: the true labels, and what wrong ones cost.
            k: the number of labels.
            random: draws the order of the instances.
            scope: the weights of the instances, and which labels count.
        """
        dual = _Dual.start(instances, loss, k, self.C, scope)
        for n_iter in range(1, self.max_iter + 1):
            self._pass(dual, random)
            if n_iter % self.check == 0 or n_iter == self.max_iter:
                fit = self._measured(dual, n_iter)
                if fit.converged:
                    break
        return fit

    def _pass(self, dual: _Dual, random: np.random.Generator) -> None:
        """Step through every instance once, in random order."""
        for group in _shuffled(dual.instances, self.batch_size, random):
            unary, tables = dual.scores(group)
            # `unary` and `tables` hold only this batch, so its nodes and pairs count from 0.
            batch = Group(
                edges=group.edges,
                members=np.arange(len(group.members)),
                nodes=_counted(group.nodes),
                pairs=_counted(group.pairs),
            )
            table = dual.scope.table(dual.weights.pairs[0])
            solution = solve_group(batch, unary, tables, table, self.solver, self.time_limit)
            best = solution.labels[:, 0]
            steps = zip(group.members, group.nodes, group.pairs, best, strict=True)
            for member, nodes, pairs, violating in steps:
                dual.step(group.edges, nodes, pairs, violating, dual.C_of[member])

    def _measured(self, dual: _Dual, n_iter: int) -> Fit:
        """Return the average weights with their duality gap.

        The objective is computed from the solver's upper bounds, so the gap is valid even if the
        solver stopped before it certified its labels.
        """
        weights = dual.average
        # Loss-augmented decoding finds the labels that violate the margin most.
        worst = decode(
            dual.instances, weights, self.solver, self.time_limit, dual.loss_of, dual.scope
        )
        vector = weights.vector()
        penalty = 0.5 * vector @ vector
        violation = dual.C_of @ worst.bound - vector @ dual.observed.vector()
        objective = float(penalty + max(0.0, float(violation)))
        gap = float(objective - (dual.average_loss - penalty))
        return Fit(weights, n_iter, gap <= self.tol * objective, objective, gap)


@dataclass(eq=False)
class _Dual:
    """The state of the search: dual variables, and the weights that follow from them.

    Attributes:
        instances: x.
        loss_of: the true labels, and what wrong ones cost.
        C_of: `[instances]`, C times the weight of each instance.
        scope: which labels count.
        observed: the sum of C_of f(x_i, y_i) over all instances.
        nodes: `[nodes, k]`, indicators of the true labels minus those of the mixtures.
        pairs: `[pairs, k, k]`, the same for pairs of labels.
        weights: C_of times the features, weighted by `nodes` and `pairs`.
        loss: the sum of C_of times the expected loss of the mixtures.
        average: weighted average of the weights of all steps, where later steps count more.
        average_loss: the same average of `loss`.
        steps: number of steps so far.
    """

    instances: Instances
    loss_of: HammingLoss
    C_of: np.ndarray
    scope: Scope
    observed: Weights
    nodes: np.ndarray
    pairs: np.ndarray
    weights: Weights
    loss: float
    average: Weights
    average_loss: float
    steps: int

    @classmethod
    def start(
        cls,
        instances: Instances,
        loss: HammingLoss,
        k: int,
        C: float,  # noqa: N803  # scikit-learn's name
        scope: Scope,
    ) -> _Dual:
        """Start with mixtures that hold only the true labels, so that all weights are zero."""
        nodes, pairs = indicators(instances, loss.truth, k)
        scale = C * scope.weights_of(instances)
        return cls(
            instances=instances,
            loss_of=loss,
            C_of=scale,
            scope=scope,
            observed=statistics(instances, loss.truth, k, scale),
            nodes=np.zeros_like(nodes),
            pairs=np.zeros_like(pairs),
            weights=Weights.zeros(instances, k),
            loss=0.0,
            average=Weights.zeros(instances, k),
            average_loss=0.0,
            steps=0,
        )

    def scores(self, group: Group) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the loss-augmented scores of a batch.

        Returns:
            unary `[batch * n, k]`; and pairwise `[batch * e, k, k]`, or None if all edges share a
            table.
        """
        rows = group.nodes.ravel()
        unary = np.asarray(self.instances.features[rows] @ self.weights.nodes)
        unary = self.loss_of.at(rows).augmented(unary)
        unary = self.scope.unary_of(group, unary)
        pair_features = self.instances.pair_features
        if pair_features is None:
            return unary, None
        by_feature = self.weights.pairs.reshape(len(self.weights.pairs), -1)
        tables = np.asarray(pair_features[group.pairs.ravel()] @ by_feature)
        return unary, tables.reshape(-1, self.weights.k, self.weights.k)

    def step(
        self,
        edges: np.ndarray,
        nodes: np.ndarray,
        pairs: np.ndarray,
        labels: np.ndarray,
        scale: float,
    ) -> None:
        """Move the mixture of one instance towards labels `[n]`, and update the averages.

        Args:
            edges: `[e, 2]`, those of the instance.
            nodes: `[n]`, the rows of its nodes.
            pairs: `[e]`, the rows of its pairs.
            labels: `[n]`, the most violating labels.
            scale: C times the weight of the instance.
        """
        k = self.weights.k
        of_instance = self.loss_of.at(nodes)
        truth = of_instance.truth
        # The corner of the dual's simplex: indicators of the truth minus those of `labels`.
        corner = np.zeros((len(nodes), k))
        corner[np.arange(len(nodes)), truth] += 1
        corner[np.arange(len(nodes)), labels] -= 1
        pair_corner = np.zeros((len(pairs), k, k))
        if len(pairs):
            first, second = edges.T
            pair_corner[np.arange(len(pairs)), truth[first], truth[second]] += 1
            pair_corner[np.arange(len(pairs)), labels[first], labels[second]] -= 1
        # The direction to the corner, what it does to the weights, and the best step along it.
        to_nodes = corner - self.nodes[nodes]
        to_pairs = pair_corner - self.pairs[pairs]
        change = self._features_of(nodes, pairs, to_nodes, to_pairs).times(scale)
        expected = of_instance.weights @ self.nodes[nodes, truth]
        loss = scale * float(of_instance(labels) - expected)
        size = self._best_size(change, loss)
        if size > 0:
            self.nodes[nodes] += size * to_nodes
            self.pairs[pairs] += size * to_pairs
            self.weights.nodes[...] += size * change.nodes
            self.weights.pairs[...] += size * change.pairs
            self.loss += size * loss
        self._average()

    def _features_of(
        self, nodes: np.ndarray, pairs: np.ndarray, to_nodes: np.ndarray, to_pairs: np.ndarray
    ) -> Weights:
        """Return the features of one instance, weighted by changes of its indicators."""
        of_nodes = np.asarray(self.instances.features[nodes[0] : nodes[-1] + 1].T @ to_nodes)
        pair_features = self.instances.pair_features
        if pair_features is None:
            of_pairs = to_pairs.sum(axis=0, keepdims=True)
        elif len(pairs):
            rows = pair_features[pairs[0] : pairs[-1] + 1]
            of_pairs = np.asarray(rows.T @ to_pairs.reshape(len(pairs), -1))
            of_pairs = of_pairs.reshape(self.weights.pairs.shape)
        else:
            of_pairs = np.zeros_like(self.weights.pairs)
        return Weights(of_nodes, of_pairs)

    def _best_size(self, change: Weights, loss: float) -> float:
        """Return the best step size in [0, 1]; the dual is a parabola along the change."""
        square = (change.nodes**2).sum() + (change.pairs**2).sum()
        slope = (
            loss
            - (change.nodes * self.weights.nodes).sum()
            - (change.pairs * self.weights.pairs).sum()
        )
        # Along a straight line, one of the two ends is best.
        if square == 0:
            return float(slope > 0)
        return float(np.clip(slope / square, 0.0, 1.0))

    def _average(self) -> None:
        """Update the weighted averages, in which step t counts t times as much as the first."""
        share = 2 / (self.steps + 2)
        self.average.nodes[...] += share * (self.weights.nodes - self.average.nodes)
        self.average.pairs[...] += share * (self.weights.pairs - self.average.pairs)
        self.average_loss += share * (self.loss - self.average_loss)
        self.steps += 1


def _shuffled(instances: Instances, size: int, random: np.random.Generator) -> list[Group]:
    """Return batches of all instances, with the members and the batches in random order."""
    batches: list[Group] = []
    for group in instances.groups:
        order = random.permutation(len(group.members))
        mixed = Group(group.edges, group.members[order], group.nodes[order], group.pairs[order])
        batches += list(mixed.batches(size))
    return [batches[number] for number in random.permutation(len(batches))]


def _counted(rows: np.ndarray) -> np.ndarray:
    """Return the numbers 0, 1, ... in the shape of `rows`."""
    return np.arange(rows.size).reshape(rows.shape)
