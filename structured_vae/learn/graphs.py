"""Estimators of labels on graphs, with features of places and of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers import ArgmaxSolver
from solvers.labels import LabelSolver

from .estimator import LinearEstimator, by_likelihood, by_margin
from .inputs import Given, of_graphs
from .instances import Instances
from .likelihood import Fitted
from .sums import graph_sums


class GraphCRF(LinearEstimator):
    r"""A conditional random field over graphs of low treewidth, by L-BFGS.

    It minimises 1/2 \|w\|^2 - C sum_i log p(y_i | x_i), which is convex; log Z and its gradient are
    exact, by elimination, so that graphs must be chains, trees or narrow; `GraphSSVM` takes all. X
    is a list of (features `[n, d]`, edges `[e, 2]`), where all edges share a table of scores, or of
    (features, edges, pair features `[e, p]`), in which the table of an edge is linear; y is a list
    of labels `[n]`. Or X is `[samples, d]`, of instances of one place.

    Args:
        C: of the likelihood beside the penalty, positive.
        tol: it ends when a step lowers the objective by less than `tol` times its value.
        max_iter: most steps.
        solver: of the predictions, as for `solvers.labels.solve`.
        time_limit: seconds for the prediction of an instance, for solvers that can stop early; None
            for none.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`.
        intercept_: `[k]`.
        pair_coef_: `[p, k, k]`, rows being labels of an edge's first place; p is 1 without pair
            features.
        n_features_in_: d.
        n_iter_: steps.
        objective_: at the end.

    Example:
        >>> square = np.eye(4), [[0, 1], [1, 2], [2, 3], [3, 0]]
        >>> crf = GraphCRF(C=10.0).fit([square], [[0, 1, 1, 0]])  # doctest: +SKIP
        >>> crf.predict([square]), crf.solve([square]).optimal  # doctest: +SKIP
        ([array([0, 1, 1, 0])], array([ True]))
    """

    _borders = False

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803  # scikit-learn's name
        tol: float = 1e-6,
        max_iter: int = 1000,
        solver: str | LabelSolver | ArgmaxSolver = "auto",
        time_limit: float | None = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.time_limit = time_limit

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each label at each place: a list of `[n, k]`; of `[samples, d]`, `[samples, k]`.

        Args:
            X: as of `fit`.

        Raises:
            DataError: X is no such list, or has another number of features.
            solvers.UnsupportedProblemError: tables of elimination do not fit into memory.
        """
        return self._probabilities(X, graph_sums)

    def _given(self, X: Any) -> Given:  # noqa: N803
        return of_graphs(X)

    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
        return by_likelihood(self, instances, labels, k, graph_sums)


class GraphSSVM(LinearEstimator):
    r"""A structural support vector machine over any graphs, by block-coordinate Frank-Wolfe.

    It minimises 1/2 \|w\|^2 + C sum_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)], where L
    counts labels that differ. X and y are those of `GraphCRF`.

    Args:
        C: of the losses beside the penalty, positive.
        tol: it ends when the duality gap, by which the objective can be above its minimum at most,
            is below `tol` times the objective. It holds where the solver stopped short of a proof,
            too.
        max_iter: most passes over the instances.
        batch_size: instances whose labels are asked for at once.
        solver: as for `solvers.labels.solve`.
        time_limit: seconds for the labels of an instance, for solvers that can stop early; None for
            none.
        random_state: of the order of the instances: a seed, a generator of numpy, or None.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`.
        intercept_: `[k]`.
        pair_coef_: `[p, k, k]`, rows being labels of an edge's first place; p is 1 without pair
            features.
        n_features_in_: d.
        n_iter_: passes.
        objective_: at the end.
        gap_: the duality gap at the end.

    Example:
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
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state

    def _given(self, X: Any) -> Given:  # noqa: N803
        return of_graphs(X)

    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
        return by_margin(self, instances, labels, k)
