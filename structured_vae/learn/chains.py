"""Estimators of labels along chains: sequence tagging."""

from __future__ import annotations

from typing import Any

import numpy as np

from .estimator import LinearEstimator, by_likelihood, by_margin
from .inputs import Given, of_chains
from .instances import Instances
from .likelihood import Fitted
from .sums import chain_sums


class ChainCRF(LinearEstimator):
    r"""A linear-chain conditional random field, by L-BFGS.

    It minimises 1/2 \|w\|^2 - C sum_i log p(y_i | x_i), which is convex; log Z and its gradient are
    exact. X is a list of features `[length, d]`, arrays or sparse arrays, and y a list of labels
    `[length]`; or X is `[samples, d]`, of chains of one place. Every prediction is a maximum, and
    proved to be one.

    Args:
        C: of the likelihood beside the penalty, positive.
        tol: it ends when a step lowers the objective by less than `tol` times its value.
        max_iter: most steps.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`.
        start_: `[k]`, of the label of the first place.
        end_: `[k]`, of the last.
        transitions_: `[k, k]`, from rows to columns.
        n_features_in_: d.
        n_iter_: steps.
        objective_: at the end.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> chains, tags = [np.eye(3), np.eye(3)[[2, 1]]], [["a", "b", "a"], ["a", "b"]]
        >>> crf = ChainCRF(C=10.0).fit(chains, tags)  # doctest: +SKIP
        >>> crf.predict([np.eye(3)[[0, 1]]])  # doctest: +SKIP
        [array(['a', 'b'], dtype='<U1')]
    """

    _borders = True

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000):  # noqa: N803  # scikit-learn's name
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each label at each place: a list of `[length, k]`; of `[samples, d]`, `[samples, k]`.

        Args:
            X: as of `fit`.

        Raises:
            DataError: X is no such list, or has another number of features.
        """
        return self._probabilities(X, chain_sums)

    def _given(self, X: Any) -> Given:  # noqa: N803
        return of_chains(X)

    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
        return by_likelihood(self, instances, labels, k, chain_sums)


class ChainSSVM(LinearEstimator):
    r"""A structural support vector machine over chains, by block-coordinate Frank-Wolfe.

    It minimises 1/2 \|w\|^2 + C sum_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)], where L
    counts labels that differ. X and y are those of `ChainCRF`. Every prediction is a maximum, and
    proved to be one.

    Args:
        C: of the losses beside the penalty, positive.
        tol: it ends when the duality gap, by which the objective can be above its minimum at most,
            is below `tol` times the objective.
        max_iter: most passes over the chains.
        batch_size: chains whose labels are asked for at once.
        random_state: of the order of the chains: a seed, a generator of numpy, or None.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`.
        start_: `[k]`, of the label of the first place.
        end_: `[k]`, of the last.
        transitions_: `[k, k]`, from rows to columns.
        n_features_in_: d.
        n_iter_: passes.
        objective_: at the end.
        gap_: the duality gap at the end.

    References:
        Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), Block-coordinate Frank-Wolfe optimization
        for structural SVMs.

    Example:
        >>> chains, tags = [np.eye(3), np.eye(3)[[2, 1]]], [["a", "b", "a"], ["a", "b"]]
        >>> svm = ChainSSVM(random_state=0).fit(chains, tags)  # doctest: +SKIP
        >>> svm.predict([np.eye(3)[[0, 1]]])  # doctest: +SKIP
        [array(['a', 'b'], dtype='<U1')]
    """

    _borders = True

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        tol: float = 1e-2,
        max_iter: int = 200,
        batch_size: int = 16,
        random_state: Any = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state

    def _given(self, X: Any) -> Given:  # noqa: N803
        return of_chains(X)

    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
        return by_margin(self, instances, labels, k)
