"""Estimators that label the nodes of graphs, from features of nodes and of edges."""

from __future__ import annotations

from typing import Any

from solvers import ArgmaxSolver
from solvers.labels import LabelSolver

from .estimator import LinearEstimator, by_likelihood, by_margin
from .inputs import Inputs, of_graphs
from .instances import Instances
from .likelihood import Fit
from .sums import graph_sums
from .truth import Truth


class GraphCRF(LinearEstimator):
    r"""A conditional random field over graphs of low treewidth, trained by L-BFGS.

    Training minimises 1/2 \|w\|^2 - C sum_i log p(y_i | x_i), which is convex. Log Z and its
    gradient are exact, by variable elimination, so the graphs must have low treewidth; use
    `GraphSSVM` for other graphs.

    X is a list of (features `[n, d]`, edges `[e, 2]`), in which all edges share a table of scores.
    Or X is a list of (features, edges, pair features `[e, p]`), in which the table of an edge is
    linear in its pair features. y is a list of labels `[n]`, or of sets of possible labels, as for
    `ChainCRF`. Or X is `[samples, d]` and y
    `[samples]`, for graphs of one node.

    Args:
        C: weight of the likelihood relative to the penalty, positive.
        tol: training stops when a step lowers the objective by less than `tol` times its value.
        max_iter: maximum number of steps.
        solver: the solver for predictions, as for `solvers.labels.solve`.
        time_limit: seconds to predict an instance, for solvers that can stop early; None for no
            limit.
        class_weight: {label: weight}, with 1 for other labels, "balanced" for weights inversely
            proportional to the counts of the labels, or None. An instance has the mean
            weight of its labels.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`, the weight of each feature for each label.
        intercept_: `[k]`, the score of each label at every node.
        pair_coef_: `[p, k, k]`, where rows are the labels of an edge's first node; p is 1 without
            pair features.
        n_features_in_: d.
        n_iter_: number of steps.
        objective_: the final value of the objective.

    Example:
        >>> import numpy as np
        >>> square = np.eye(4), [[0, 1], [1, 2], [2, 3], [3, 0]]
        >>> crf = GraphCRF(C=10.0).fit([square], [[0, 1, 1, 0]])  # doctest: +SKIP
        >>> crf.predict([square]), crf.solve([square]).optimal  # doctest: +SKIP
        ([array([0, 1, 1, 0])], array([ True]))
    """

    _borders = False
    _sets = True

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803  # scikit-learn's name
        tol: float = 1e-6,
        max_iter: int = 1000,
        solver: str | LabelSolver | ArgmaxSolver = "auto",
        time_limit: float | None = None,
        class_weight: Any = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.time_limit = time_limit
        self.class_weight = class_weight

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the marginal probability of each label at each node.

        Args:
            X: graphs, as for `fit`.

        Returns:
            a list of arrays `[n, k]`; or `[samples, k]` if X is `[samples, d]`.

        Raises:
            DataError: X has another form or another number of features than in training.
            solvers.UnsupportedProblemError: the tables of elimination do not fit into memory.
        """
        return self._probabilities(X, graph_sums)

    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        return of_graphs(X)

    def _features_of(self, instance: Any) -> Any:
        return _features_of(instance)

    def _with_features(self, instance: Any, features: Any) -> Any:
        return (features, *instance[1:])

    def _search(self, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
        return by_likelihood(self, instances, truth, sample_weight, graph_sums)


class GraphSSVM(LinearEstimator):
    r"""A structural support vector machine over graphs, trained by block-coordinate Frank-Wolfe.

    Training minimises
    1/2 \|w\|^2 + C sum_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)],
    where the Hamming loss L counts labels that differ. X and y have the same form as for
    `GraphCRF`.

    Args:
        C: weight of the losses relative to the penalty, positive.
        tol: training stops when the duality gap, an upper bound on the suboptimality of the
            objective, is below `tol` times the objective. The gap is valid even if the solver
            stopped before it certified its labels.
        max_iter: maximum number of passes over the instances.
        batch_size: number of instances that are decoded in one call.
        solver: the solver for training and predictions, as for `solvers.labels.solve`.
        time_limit: seconds to label an instance, for solvers that can stop early; None for no
            limit.
        random_state: source of the random order of the instances: a seed, a NumPy generator, or
            None.
        class_weight: {label: weight}, with 1 for other labels, "balanced" for weights inversely
            proportional to the counts of the labels, or None. A wrong label costs the
            weight of the true one.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`, the weight of each feature for each label.
        intercept_: `[k]`, the score of each label at every node.
        pair_coef_: `[p, k, k]`, where rows are the labels of an edge's first node; p is 1 without
            pair features.
        n_features_in_: d.
        n_iter_: number of passes.
        objective_: the final value of the objective.
        gap_: the final duality gap.

    Example:
        >>> import numpy as np
        >>> square = np.eye(4), [[0, 1], [1, 2], [2, 3], [3, 0]]
        >>> svm = GraphSSVM(random_state=0).fit([square], [[0, 1, 1, 0]])  # doctest: +SKIP
        >>> svm.predict([square]), svm.solve([square]).optimal  # doctest: +SKIP
        ([array([0, 1, 1, 0])], array([ True]))
    """

    _borders = False

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        tol: float = 1e-2,
        max_iter: int = 200,
        batch_size: int = 16,
        solver: str | LabelSolver | ArgmaxSolver = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.solver = solver
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state

    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        return of_graphs(X)

    def _features_of(self, instance: Any) -> Any:
        return _features_of(instance)

    def _with_features(self, instance: Any, features: Any) -> Any:
        return (features, *instance[1:])

    def _search(self, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
        return by_margin(self, instances, truth, sample_weight)


def _features_of(instance: Any) -> Any:
    """Return the features of (features, edges, ...); None for anything else."""
    if isinstance(instance, tuple) and instance:
        return instance[0]
    return None
