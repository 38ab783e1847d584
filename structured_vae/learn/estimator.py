"""The base class of all estimators: X and y in, labels out, by scikit-learn's conventions."""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np

from ..crfs import TagRules
from ..errors import ConfigError, DataError, MissingPackageError, shortened
from .decoding import Decoded, HammingLoss, decode
from .dictionaries import are_dictionaries, check_dictionaries, vectorizer_of
from .feature_names import check_names, names_of
from .frank_wolfe import FrankWolfe
from .inputs import Inputs, is_table, labels_of, of_rows, stacked
from .instances import Instances, Weights
from .likelihood import Fit, Likelihood, maximise_likelihood
from .scope import Scope
from .sums import LogSums
from .truth import Truth, agreements, possible_labels, sample_weights

_PRESENT = find_spec("sklearn") is not None
_Base: Any = object
if _PRESENT:
    _Base = importlib.import_module("sklearn.base").BaseEstimator


# scikit-learn may be missing, so mypy cannot know this class. It is no `ClassifierMixin`, since
# scikit-learn looks for classes in the y of a classifier, and refuses lists of lists.
class LinearEstimator(_Base):  # type: ignore[misc]
    """A linear model that labels the nodes of instances.

    X is a list of instances, and y a list of their labels. Or X is `[samples, d]` and y
    `[samples]`, for instances with one node.

    The features of an instance may be dictionaries, one for each node, such as `{"word": "the",
    "length": 3}`. A text is a feature of its own for each value, as in scikit-learn's
    `DictVectorizer`; features that did not occur in training are ignored.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        n_features_in_: d.
        feature_names_: `[d]`, the names of the features, if they were dictionaries.
        feature_names_in_: `[d]`, the names of the columns, if features were tables of pandas.
        n_iter_: number of training steps or passes.
        objective_: the final value of the objective.
    """

    _sets: ClassVar[bool] = False
    """Whether training takes sets of possible labels."""

    _borders: ClassVar[bool]
    """Whether the first and the last node have separate weights; else all share an intercept."""

    # X is scikit-learn's name.
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train on instances and their labels.

        Args:
            X: instances, or `[samples, d]`. An array of three dimensions lists chains of equal
                length.
            y: a list with one label per node for each instance, of any sortable type; or
                `[samples]`. `ChainCRF` and `GraphCRF` also take sets of possible labels in place of
                labels, where an empty set says that nothing is known.
            sample_weight: `[instances]`, by which the loss or the log likelihood of each instance
                is multiplied; None for ones.

        Returns:
            the estimator itself.

        Raises:
            DataError: X or y has another form, a label is None or nan, features are not finite,
                tables of features have different columns, labels break the rules of the scheme, or
                a sample weight is out of range.
            ConfigError: a parameter of this estimator has an invalid value.
            StructureError: a label is not one of the scheme.
            MissingPackageError: scikit-learn or scipy is not installed.
            solvers.SolverError: an edge occurs twice, or the solver does not accept the scores.
        """
        _check_installed()
        self._check()
        instances, labels = self._of_training(X, y)
        truth = Truth.of(labels)
        if truth.possible is not None and not self._sets:
            raise DataError(
                f"{type(self).__name__} needs one label for each node: train on sets of labels by "
                "likelihood, with ChainCRF or GraphCRF"
            )
        self.classes_ = truth.classes
        fit = self._search(instances, truth, sample_weight)
        if not fit.converged:
            _warn(
                f"{type(self).__name__} did not converge in {fit.n_iter} iterations: "
                "increase max_iter or tol"
            )
        self._keep(fit)
        return self

    def solve(
        self,
        X: Any,  # noqa: N803
        *,
        k_best: int | None = None,
        fix: Any = None,
    ) -> Decoded:
        """Return the best labels of each instance with score, bound and optimality certificate.

        Args:
            X: instances, as for `fit`.
            k_best: how many of the best labels of each instance to return, in falling order of
                their scores; None for the best alone.
            fix: a list with {node: label} for each instance, the labels that nodes keep, or
                {node: set of labels}, the labels that they may have; None for no such labels.

        Returns:
            `labels` `[nodes]`, indices into `classes_`, of all instances one after the other;
            `score`, `bound` and `optimal` `[instances]`. With `k_best` all arrays have this
            dimension in front.

        Raises:
            DataError: X has another form or another number of features than in training, or `fix`
                names a node or a label that does not exist.
            ConfigError: `k_best` is not a whole number of at least 1.
            solvers.SolverError: the solver does not accept the scores.
        """
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        if k_best is not None:
            check_count(k_best, "k_best")
        instances = self._of_prediction(X)
        possible = None
        if fix is not None:
            possible = possible_labels(fix, np.diff(instances.offsets), self.classes_)
        return self._decoded(instances, possible, k_best)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the best labels of each instance.

        Args:
            X: instances, as for `fit`.

        Returns:
            a list of arrays with one label per node; or `[samples]` if X is `[samples, d]`.

        Raises:
            DataError: X has another form or another number of features than in training.
            solvers.SolverError: the solver does not accept the scores.
        """
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        instances = self._of_prediction(X)
        labels = self.classes_[self._decoded(instances).labels]
        if is_table(X):
            return labels
        return instances.split(labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy: the share of nodes whose predicted label is correct.

        Where a set of possible labels is known, each of them is correct. Nodes with an empty set do
        not count.

        Args:
            X: instances, as for `fit`.
            y: true labels, or sets of possible labels.
            sample_weight: the weight of each instance; None for ones.

        Raises:
            DataError: X or y has another form, a label is None or nan, nothing is known of any node
                of a positive weight, or a sample weight is out of range.
            solvers.SolverError: the solver does not accept the scores.
        """
        predicted = self.predict(X)
        if is_table(X):
            counts = np.ones(len(predicted), np.int64)
            correct = np.asarray(predicted) == np.asarray(y)
            weight = np.ones(len(predicted))
        else:
            counts = np.array([len(labels) for labels in predicted])
            correct, weight = agreements(np.concatenate(predicted), labels_of(y, counts))
        weights = sample_weights(sample_weight, len(counts))
        if weights is not None:
            weight = weight * np.repeat(weights, counts)
        if not weight.any():
            raise DataError("y must have some labels; it has only empty sets")
        return float(np.average(correct, weights=weight))

    @abstractmethod
    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        """Check a list of instances."""

    @abstractmethod
    def _search(self, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
        """Train on labels, and on the weights that the caller gave to instances."""

    def _rules(self) -> TagRules | None:
        """Return which labels of `classes_` may follow each other; None for all."""
        return None

    @property
    def _border_features(self) -> int:
        """The number of features added to those of X: both borders, or an intercept."""
        if self._borders:
            return 2
        return 1

    def _check(self) -> None:
        """Check the parameters.

        Raises:
            ConfigError: a parameter is not a positive number, or not an integer of at least 1.
        """
        _check_positive(self, "C", "tol")
        _check_counts(self, "max_iter")
        if hasattr(self, "batch_size"):
            _check_counts(self, "batch_size")

    def _keep(self, fit: Fit) -> None:
        """Set the attributes that scikit-learn's conventions ask for."""
        self._weights = fit.weights
        self.n_iter_ = fit.n_iter
        self.objective_ = fit.objective
        if fit.gap is not None:
            self.gap_ = fit.gap
        nodes = fit.weights.nodes
        self.coef_ = nodes[: -self._border_features].T
        if self._borders:
            self.start_ = nodes[-2]
            self.end_ = nodes[-1]
            self.transitions_ = fit.weights.pairs[0]
        else:
            self.intercept_ = nodes[-1]
            self.pair_coef_ = fit.weights.pairs

    def _decoded(
        self,
        instances: Instances,
        possible: np.ndarray | None = None,
        k_best: int | None = None,
    ) -> Decoded:
        scope = Scope(possible=possible, rules=self._rules())
        weights = self._of_edges(instances)
        return decode(instances, weights, scope=scope, k_best=k_best, **_of_decoding(self))

    def _probabilities(self, x: Any, log_sums: LogSums) -> Any:
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        instances = self._of_prediction(x)
        scope = Scope(rules=self._rules())
        marginals = log_sums(instances, self._of_edges(instances), scope)[1]
        if is_table(x):
            return marginals
        return instances.split(marginals)

    def _of_edges(self, instances: Instances) -> Weights:
        """Return the weights, with a single pairwise table if the instances have no edges."""
        weights = self._weights
        if instances.pair_features is None and len(weights.pairs) > 1:
            return Weights(weights.nodes, weights.pairs[:1])
        return weights

    def _of_training(self, x: Any, y: Any) -> tuple[Instances, np.ndarray]:
        if is_table(x):
            validation = importlib.import_module("sklearn.utils.validation")
            features, labels = validation.validate_data(
                self, x, y, accept_sparse="csr", dtype=np.float64
            )
            importlib.import_module("sklearn.utils.multiclass").check_classification_targets(labels)
            return stacked(of_rows(features), self._borders), np.asarray(labels)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self._refuse_empty(x)
        self._keep_names(names_of([self._features_of(instance) for instance in x]))
        self._vectorizer = vectorizer_of(self._dictionaries(x))
        if self._vectorizer is not None:
            self.feature_names_ = self._vectorizer.get_feature_names_out()
        instances = stacked(self._inputs(self._without_dictionaries(x)), self._borders)
        self.n_features_in_ = instances.features.shape[1] - self._border_features
        return instances, labels_of(y, np.diff(instances.offsets))

    def _of_prediction(self, x: Any) -> Instances:
        if is_table(x):
            validation = importlib.import_module("sklearn.utils.validation")
            features = validation.validate_data(
                self, x, accept_sparse="csr", dtype=np.float64, reset=False
            )
            return stacked(of_rows(features), self._borders)
        self._refuse_empty(x)
        self._check_names(x)
        inputs = self._inputs(self._without_dictionaries(x))
        pair_width = len(self._weights.pairs)
        if inputs.pair_features is None and pair_width > 1:
            raise DataError(
                f"X must have pair features of {pair_width} columns, as in training; it has none"
            )
        return stacked(inputs, self._borders, self.n_features_in_, pair_width)

    def _refuse_empty(self, x: Any) -> None:
        """Raise if the features of an instance are an empty list.

        Raises:
            DataError: they are.
        """
        for number, instance in enumerate(x):
            features = self._features_of(instance)
            if isinstance(features, list | tuple) and not features:
                raise DataError(f"X[{number}] has no nodes: leave it out, and its labels too")

    def _keep_names(self, names: np.ndarray | None) -> None:
        """Set or delete the names of the columns, as scikit-learn does for a single table."""
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, x: Any) -> None:
        """Raise if tables of features have other columns than in training.

        Raises:
            DataError: the columns differ.
        """
        names = names_of([self._features_of(instance) for instance in x])
        names_of_training = getattr(self, "feature_names_in_", None)
        if names is not None and names_of_training is not None:
            check_names(list(names), list(names_of_training), "X", "the training instances")

    def _dictionaries(self, x: Any) -> list[Any]:
        """Return the features of each instance, where they are dictionaries; else nothing."""
        features = [self._features_of(instance) for instance in x]
        return [dictionaries for dictionaries in features if are_dictionaries(dictionaries)]

    def _without_dictionaries(self, x: Any) -> Any:
        """Return the instances with matrices in the place of dictionaries.

        Raises:
            DataError: training had other features.
        """
        vectorizer = getattr(self, "_vectorizer", None)
        count = len(self._dictionaries(x))
        if not count and vectorizer is None:
            return x
        if vectorizer is None or count < len(x):
            raise DataError(
                "features must be dictionaries in all instances, in training and prediction, or in "
                f"none; got {count} of {len(x)} instances with dictionaries"
            )
        for number, instance in enumerate(x):
            check_dictionaries(self._features_of(instance), f"X[{number}]")
        matrices = [vectorizer.transform(self._features_of(instance)) for instance in x]
        return [
            self._with_features(instance, matrix)
            for instance, matrix in zip(x, matrices, strict=True)
        ]

    def _features_of(self, instance: Any) -> Any:
        """Return the features of one instance."""
        return instance

    def _with_features(self, instance: Any, features: Any) -> Any:
        """Return one instance with other features."""
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        # The estimator type stays None; scikit-learn's checks of probabilities read these tags.
        tags.classifier_tags = importlib.import_module("sklearn.utils").ClassifierTags()
        return tags


def by_likelihood(
    estimator: Any, instances: Instances, truth: Truth, sample_weight: Any, log_sums: LogSums
) -> Fit:
    """Train by L-BFGS; the estimator has the parameters `C`, `tol` and `max_iter`."""
    weights = truth.weights(instances, sample_weight, estimator.class_weight)
    scope = Scope(weights=weights, rules=estimator._rules())
    _check_rules(instances, truth, scope)
    objective = Likelihood.of(
        instances,
        truth.labels,
        len(truth.classes),
        float(estimator.C),
        log_sums,
        scope,
        truth.possible,
    )
    return maximise_likelihood(objective, estimator.tol, estimator.max_iter)


def by_margin(estimator: Any, instances: Instances, truth: Truth, sample_weight: Any) -> Fit:
    """Train by Frank-Wolfe; the estimator has the parameters of `FrankWolfe` and a random state."""
    search = FrankWolfe(
        float(estimator.C),
        estimator.tol,
        estimator.max_iter,
        estimator.batch_size,
        **_of_decoding(estimator),
    )
    of_classes = truth.class_weights(estimator.class_weight)
    costs = None
    if of_classes is not None:
        costs = truth.node_weights(of_classes)
    scope = Scope(weights=sample_weights(sample_weight, instances.count), rules=estimator._rules())
    _check_rules(instances, truth, scope)
    loss = HammingLoss.of(truth.labels, costs)
    random = _generator(estimator.random_state)
    return search.fit(instances, loss, len(truth.classes), random, scope)


def _check_rules(instances: Instances, truth: Truth, scope: Scope) -> None:
    """Raise if the rules allow no labels of an instance that its true labels allow.

    Raises:
        DataError: labels of an instance break the rules.
    """
    rules = scope.rules
    if rules is None:
        return
    for number, possible in enumerate(instances.split(truth.allowed)):
        ends = possible[0] & rules.start
        for of_node in possible[1:]:
            ends = (ends @ rules.transitions) & of_node
        if not (ends & rules.end).any():
            labels = [truth.classes[of_node].tolist() for of_node in possible]
            raise DataError(
                f"y[{number}] breaks the rules of the scheme; its possible labels are "
                f"{shortened(labels)}"
            )


def _of_decoding(estimator: Any) -> dict[str, Any]:
    """Return the solver and the time limit, of estimators that have these parameters."""
    return {
        name: getattr(estimator, name)
        for name in ("solver", "time_limit")
        if hasattr(estimator, name)
    }


def _generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a `random_state` stands for.

    Raises:
        ConfigError: `random_state` has another type, or is negative.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(random_state)
    raise ConfigError(
        "random_state must be a seed of at least 0, a NumPy generator or None; "
        f"got {shortened(random_state)}"
    )


def _check_positive(estimator: Any, *names: str) -> None:
    for name in names:
        value = getattr(estimator, name)
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not 0 < value < np.inf:
            raise ConfigError(f"{name} must be a positive number; got {shortened(value)}")


def _check_counts(estimator: Any, *names: str) -> None:
    for name in names:
        check_count(getattr(estimator, name), name)


def check_count(value: Any, name: str) -> None:
    """Raise if the value is not a whole number of at least 1.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{name} must be a whole number of at least 1; got {shortened(value)}")


def _check_installed() -> None:
    if not _PRESENT or find_spec("scipy") is None:
        raise MissingPackageError(
            "estimators need scikit-learn and scipy: pip install 'structured-vae[learn]'"
        )


def _warn(message: str) -> None:
    warnings.warn(
        message, importlib.import_module("sklearn.exceptions").ConvergenceWarning, stacklevel=3
    )
