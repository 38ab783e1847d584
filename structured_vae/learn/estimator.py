"""The base class of all estimators: X and y in, labels out, by scikit-learn's conventions."""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import ConfigError, DataError, MissingPackageError, shortened
from .decoding import Decoded, decode
from .frank_wolfe import FrankWolfe
from .inputs import Inputs, is_table, labels_of, of_rows, stacked
from .instances import Instances, Weights
from .likelihood import Fit, Likelihood, maximise_likelihood
from .sums import LogSums

_PRESENT = find_spec("sklearn") is not None
_Base: Any = importlib.import_module("sklearn.base").BaseEstimator if _PRESENT else object
_Classifier: Any = (
    importlib.import_module("sklearn.base").ClassifierMixin if _PRESENT else type("Absent", (), {})
)


# scikit-learn may be missing, so mypy cannot know these two classes.
class LinearEstimator(_Classifier, _Base):  # type: ignore[misc]
    """A linear model that labels the nodes of instances.

    X is a list of instances, and y a list of their labels. Or X is `[samples, d]` and y
    `[samples]`, for instances with one node; the estimator is then an ordinary classifier of
    scikit-learn.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        n_features_in_: d.
        n_iter_: number of training steps or passes.
        objective_: the final value of the objective.
    """

    _borders: ClassVar[bool]
    """Whether the first and the last node have separate weights; else all share an intercept."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Train on instances and their labels.

        Args:
            X: instances, or `[samples, d]`.
            y: a list with one label per node for each instance, of any sortable type; or
                `[samples]`.

        Returns:
            the estimator itself.

        Raises:
            DataError: X or y has another form, or features are not finite.
            ConfigError: a parameter of this estimator has an invalid value.
            MissingPackageError: scikit-learn or scipy is not installed.
            solvers.SolverError: an edge occurs twice, or the solver does not accept the scores.
        """
        _check_installed()
        self._check()
        instances, labels = self._of_training(X, y)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        fit = self._search(instances, numbers.reshape(-1).astype(np.int64), len(self.classes_))
        if not fit.converged:
            _warn(
                f"{type(self).__name__} did not converge in {fit.n_iter} iterations: "
                "increase max_iter or tol"
            )
        self._keep(fit)
        return self

    def solve(self, X: Any) -> Decoded:  # noqa: N803
        """Return the best labels of each instance with score, bound and optimality certificate.

        Args:
            X: instances, as for `fit`.

        Returns:
            `labels` `[nodes]`, indices into `classes_`, of all instances one after the other;
            `score`, `bound` and `optimal` `[instances]`.

        Raises:
            DataError: X has another form or another number of features than in training.
            solvers.SolverError: the solver does not accept the scores.
        """
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        return self._decoded(self._of_prediction(X))

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
        return labels if is_table(X) else instances.split(labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy: the share of nodes whose predicted label is correct.

        Args:
            X: instances, as for `fit`.
            y: true labels, as for `fit`.
            sample_weight: the weight of each instance; None for ones.

        Raises:
            DataError: X or y has another form.
            solvers.SolverError: the solver does not accept the scores.
        """
        predicted = self.predict(X)
        if is_table(X):
            counts = np.ones(len(predicted), np.int64)
            correct = np.asarray(predicted) == np.asarray(y)
        else:
            counts = np.array([len(labels) for labels in predicted])
            correct = np.concatenate(predicted) == labels_of(y, counts)
        weights = None if sample_weight is None else np.repeat(np.asarray(sample_weight), counts)
        return float(np.average(correct, weights=weights))

    @abstractmethod
    def _inputs(self, X: Any) -> Inputs:  # noqa: N803
        """Check a list of instances."""

    @abstractmethod
    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fit:
        """Train on labels `[nodes]`, numbers from 0 to k - 1."""

    @property
    def _border_features(self) -> int:
        """The number of features added to those of X: both borders, or an intercept."""
        return 2 if self._borders else 1

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

    def _decoded(self, instances: Instances) -> Decoded:
        return decode(instances, self._of_edges(instances), **_of_decoding(self))

    def _probabilities(self, x: Any, log_sums: LogSums) -> Any:
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        instances = self._of_prediction(x)
        marginals = log_sums(instances, self._of_edges(instances))[1]
        return marginals if is_table(x) else instances.split(marginals)

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
        instances = stacked(self._inputs(x), self._borders)
        self.n_features_in_ = instances.features.shape[1] - self._border_features
        return instances, labels_of(y, np.diff(instances.offsets))

    def _of_prediction(self, x: Any) -> Instances:
        if is_table(x):
            validation = importlib.import_module("sklearn.utils.validation")
            features = validation.validate_data(
                self, x, accept_sparse="csr", dtype=np.float64, reset=False
            )
            return stacked(of_rows(features), self._borders)
        inputs = self._inputs(x)
        pair_width = len(self._weights.pairs)
        if inputs.pair_features is None and pair_width > 1:
            raise DataError(
                f"X must have pair features of {pair_width} columns, as in training; it has none"
            )
        return stacked(inputs, self._borders, self.n_features_in_, pair_width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def by_likelihood(
    estimator: Any, instances: Instances, labels: np.ndarray, k: int, log_sums: LogSums
) -> Fit:
    """Train by L-BFGS; the estimator has the parameters `C`, `tol` and `max_iter`."""
    objective = Likelihood.of(instances, labels, k, float(estimator.C), log_sums)
    return maximise_likelihood(objective, estimator.tol, estimator.max_iter)


def by_margin(estimator: Any, instances: Instances, labels: np.ndarray, k: int) -> Fit:
    """Train by Frank-Wolfe; the estimator has the parameters of `FrankWolfe` and a random state."""
    search = FrankWolfe(
        float(estimator.C),
        estimator.tol,
        estimator.max_iter,
        estimator.batch_size,
        **_of_decoding(estimator),
    )
    return search.fit(instances, labels, k, _generator(estimator.random_state))


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
        value = getattr(estimator, name)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ConfigError(
                f"{name} must be a whole number of at least 1; got {shortened(value)}"
            )


def _check_installed() -> None:
    if not _PRESENT or find_spec("scipy") is None:
        raise MissingPackageError(
            "estimators need scikit-learn and scipy: pip install 'structured-vae[learn]'"
        )


def _warn(message: str) -> None:
    warnings.warn(
        message, importlib.import_module("sklearn.exceptions").ConvergenceWarning, stacklevel=3
    )
