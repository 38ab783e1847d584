"""Estimators that label the positions of chains (sequence tagging)."""

from __future__ import annotations

from typing import Any

from ..crfs import TagRules, tag_rules
from ..crfs.tag_rules import Scheme
from .estimator import LinearEstimator, by_likelihood, by_margin
from .inputs import Inputs, of_chains
from .instances import Instances
from .likelihood import Fit
from .sums import chain_sums
from .truth import Truth


class ChainCRF(LinearEstimator):
    r"""A linear-chain conditional random field, trained by L-BFGS.

    Training minimises 1/2 \|w\|^2 - C sum_i log p(y_i | x_i), which is convex; log Z and its
    gradient are exact. X is a list of features `[length, d]`, dense or sparse, or of lists of
    dictionaries, and y a list of labels `[length]`. Or X is `[samples, d]` and y `[samples]`, for
    chains of length 1. Every prediction is a certified maximum of the score.

    A label may be a set of possible labels, or an empty set where nothing is known. p(y_i | x_i) is
    then the probability of all labels that the sets allow, and the objective is not convex.

    Args:
        C: weight of the likelihood relative to the penalty, positive.
        tol: training stops when a step lowers the objective by less than `tol` times its value.
        max_iter: maximum number of steps.
        class_weight: {label: weight}, with 1 for other labels, "balanced" for weights inversely
            proportional to the counts of the labels, or None. A chain has the mean weight
            of its labels.
        scheme: "BIO", "IOBES" or "BILOU", for labels such as "B-PER": sequences that break the
            rules of the scheme get no probability and are never predicted. None for no rules.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`, the weight of each feature for each label.
        start_: `[k]`, the score of each label at the first position.
        end_: `[k]`, the score of each label at the last position.
        transitions_: `[k, k]`, the score of a label (row) followed by another (column).
        n_features_in_: d.
        n_iter_: number of steps.
        objective_: the final value of the objective.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> import numpy as np
        >>> chains, tags = [np.eye(3), np.eye(3)[[2, 1]]], [["a", "b", "a"], ["a", "b"]]
        >>> crf = ChainCRF(C=10.0).fit(chains, tags)  # doctest: +SKIP
        >>> crf.predict([np.eye(3)[[0, 1]]])  # doctest: +SKIP
        [array(['a', 'b'], dtype='<U1')]
    """

    _borders = True
    _sets = True

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803  # scikit-learn's name
        tol: float = 1e-6,
        max_iter: int = 1000,
        class_weight: Any = None,
        scheme: Scheme | None = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.scheme = scheme

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the marginal probability of each label at each position.

        Args:
            X: chains, as for `fit`.

        Returns:
            a list of arrays `[length, k]`; or `[samples, k]` if X is `[samples, d]`.

        Raises:
            DataError: X has another form or another number of features than in training.
        """
        return self._probabilities(X, chain_sums)

    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        return of_chains(X)

    def _rules(self) -> TagRules | None:
        return _rules(self)

    def _search(self, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
        return by_likelihood(self, instances, truth, sample_weight, chain_sums)


class ChainSSVM(LinearEstimator):
    r"""A structural support vector machine over chains, trained by block-coordinate Frank-Wolfe.

    Training minimises
    1/2 \|w\|^2 + C sum_i max_y [L(y_i, y) + w . f(x_i, y) - w . f(x_i, y_i)],
    where the Hamming loss L counts labels that differ. X and y have the same form as for
    `ChainCRF`. Every prediction is a certified maximum of the score.

    Args:
        C: weight of the losses relative to the penalty, positive.
        tol: training stops when the duality gap, an upper bound on the suboptimality of the
            objective, is below `tol` times the objective.
        max_iter: maximum number of passes over the chains.
        batch_size: number of chains that are decoded in one call.
        random_state: source of the random order of the chains: a seed, a NumPy generator, or None.
        class_weight: {label: weight}, with 1 for other labels, "balanced" for weights inversely
            proportional to the counts of the labels, or None. A wrong label costs the
            weight of the true one.
        scheme: "BIO", "IOBES" or "BILOU", for labels such as "B-PER": sequences that break the
            rules of the scheme get no probability and are never predicted. None for no rules.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        coef_: `[k, d]`, the weight of each feature for each label.
        start_: `[k]`, the score of each label at the first position.
        end_: `[k]`, the score of each label at the last position.
        transitions_: `[k, k]`, the score of a label (row) followed by another (column).
        n_features_in_: d.
        n_iter_: number of passes.
        objective_: the final value of the objective.
        gap_: the final duality gap.

    References:
        Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), Block-coordinate Frank-Wolfe optimization
        for structural SVMs.

    Example:
        >>> import numpy as np
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
        class_weight: Any = None,
        scheme: Scheme | None = None,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state
        self.class_weight = class_weight
        self.scheme = scheme

    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        return of_chains(X)

    def _rules(self) -> TagRules | None:
        return _rules(self)

    def _search(self, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
        return by_margin(self, instances, truth, sample_weight)


def _rules(estimator: Any) -> TagRules | None:
    if estimator.scheme is None:
        return None
    return tag_rules(estimator.classes_.tolist(), estimator.scheme)
