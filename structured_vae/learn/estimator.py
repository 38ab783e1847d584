"""What all estimators share: X and y in, labels out, in the ways of scikit-learn."""

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
from .inputs import Given, is_table, labels_of, of_rows, stacked
from .instances import Instances, Weights
from .likelihood import Fitted, Likelihood, maximise_likelihood
from .sums import LogSums

_PRESENT = find_spec("sklearn") is not None
_Base: Any = importlib.import_module("sklearn.base").BaseEstimator if _PRESENT else object
_Classifier: Any = (
    importlib.import_module("sklearn.base").ClassifierMixin if _PRESENT else type("Absent", (), {})
)


class LinearEstimator(_Classifier, _Base):  # type: ignore[misc]  # classes of another package, which may be missing
    """A linear model of the labels of instances.

    X is a list of instances, and y a list of their labels; or X is `[samples, d]` and y
    `[samples]`, of instances with one place each, which makes it a classifier like any other of
    scikit-learn.

    Attributes:
        classes_: `[k]`, the labels, sorted.
        n_features_in_: d.
        n_iter_: steps or passes of the training.
        objective_: what was minimised, at the end.
    """

    _borders: ClassVar[bool]
    """Whether the first and the last place of an instance have weights of their own; else all share an intercept."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Learns from instances and their labels.

        Args:
            X: instances, or `[samples, d]`.
            y: a list of labels a place for each instance, of any sortable type; or `[samples]`.

        Raises:
            DataError: X or y is no such list, or features are not finite.
            ConfigError: a parameter of this estimator has a value that cannot work.
            MissingPackageError: scikit-learn or scipy is not installed.
            solvers.SolverError: edges repeat, or sums or maxima cannot be had.
        """
        _check_installed()
        self._check()
        instances, labels = self._of_training(X, y)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        fitted = self._search(instances, numbers.reshape(-1).astype(np.int64), len(self.classes_))
        if not fitted.converged:
            _warn(
                f"{type(self).__name__} did not converge in {fitted.n_iter} iterations: raise max_iter or tol"
            )
        self._keep(fitted)
        return self

    def solve(self, X: Any) -> Decoded:  # noqa: N803
        """The best labels of each instance with score, bound and proof.

        Args:
            X: as of `fit`.

        Returns:
            `labels`, from 0 to k - 1, places of `classes_`, of all instances one after the other;
            `score`, `bound` and `optimal`, one an instance.

        Raises:
            DataError: X is no such list, or has another number of features.
            solvers.SolverError: the solver cannot take the scores.
        """
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        return self._decoded(self._of_prediction(X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The best labels of each instance, as a list of arrays; of `[samples, d]`, `[samples]`.

        Args:
            X: as of `fit`.

        Raises:
            DataError: X is no such list, or has another number of features.
            solvers.SolverError: the solver cannot take the scores.
        """
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        instances = self._of_prediction(X)
        labels = self.classes_[self._decoded(instances).labels]
        return labels if is_table(X) else instances.split(labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of places whose label is right.

        Args:
            X: as of `fit`.
            y: as of `fit`.
            sample_weight: of each instance; None for ones.

        Raises:
            DataError: X or y is no such list.
            solvers.SolverError: the solver cannot take the scores.
        """
        found, truth = self.predict(X), y
        if is_table(X):
            right, counts = np.asarray(found) == np.asarray(truth), np.ones(len(found), np.int64)
        else:
            counts = np.array([len(each) for each in found])
            right = np.concatenate(found) == labels_of(truth, counts)
        weights = None if sample_weight is None else np.repeat(np.asarray(sample_weight), counts)
        return float(np.average(right, weights=weights))

    @abstractmethod
    def _given(self, X: Any) -> Given:  # noqa: N803
        """A list of instances, checked."""

    @abstractmethod
    def _search(self, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
        """Trains."""

    def _check(self) -> None:
        """Refuses parameters that cannot work.

        Raises:
            ConfigError: one is no positive number, or no whole number from 1.
        """
        _check_positive(self, "C", "tol")
        _check_counts(self, "max_iter", *(["batch_size"] if hasattr(self, "batch_size") else []))

    def _keep(self, fitted: Fitted) -> None:
        """What was learned, as attributes."""
        self._weights, self.n_iter_, self.objective_ = (
            fitted.weights,
            fitted.n_iter,
            fitted.objective,
        )
        if fitted.gap is not None:
            self.gap_ = fitted.gap
        places, extra = self._weights.places, 2 if self._borders else 1
        self.coef_ = places[:-extra].T
        if self._borders:
            self.start_, self.end_, self.transitions_ = (
                places[-2],
                places[-1],
                self._weights.pairs[0],
            )
        else:
            self.intercept_, self.pair_coef_ = places[-1], self._weights.pairs

    def _decoded(self, instances: Instances) -> Decoded:
        return decode(instances, self._of_edges(instances), **_of_decoding(self))

    def _probabilities(self, x: Any, log_sums: LogSums) -> Any:
        _check_installed()
        importlib.import_module("sklearn.utils.validation").check_is_fitted(self, "classes_")
        instances = self._of_prediction(x)
        marginals = log_sums(instances, self._of_edges(instances))[1]
        return marginals if is_table(x) else instances.split(marginals)

    def _of_edges(self, instances: Instances) -> Weights:
        """The weights; where instances have no edges, though those of training had some with features, fewer."""
        weights = self._weights
        if instances.pair_features is None and len(weights.pairs) > 1:
            return Weights(weights.places, weights.pairs[:1])
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
        instances = stacked(self._given(x), self._borders)
        self.n_features_in_ = instances.features.shape[1] - (2 if self._borders else 1)
        return instances, labels_of(y, np.diff(instances.offsets))

    def _of_prediction(self, x: Any) -> Instances:
        if is_table(x):
            validation = importlib.import_module("sklearn.utils.validation")
            features = validation.validate_data(
                self, x, accept_sparse="csr", dtype=np.float64, reset=False
            )
            return stacked(of_rows(features), self._borders)
        given, pairs = self._given(x), self._weights.pairs
        if given.pair_features is None and len(pairs) > 1:
            raise DataError(
                f"X must have pair features of {len(pairs)} columns, as in training; it has none"
            )
        return stacked(given, self._borders, self.n_features_in_, len(pairs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def by_likelihood(
    estimator: Any, instances: Instances, labels: np.ndarray, k: int, log_sums: LogSums
) -> Fitted:
    """Training by L-BFGS, of an estimator with `C`, `tol` and `max_iter`."""
    objective = Likelihood.of(instances, labels, k, float(estimator.C), log_sums)
    return maximise_likelihood(objective, estimator.tol, estimator.max_iter)


def by_margin(estimator: Any, instances: Instances, labels: np.ndarray, k: int) -> Fitted:
    """Training by Frank-Wolfe, of an estimator with `batch_size` and `random_state` beside."""
    search = FrankWolfe(
        float(estimator.C),
        estimator.tol,
        estimator.max_iter,
        estimator.batch_size,
        **_of_decoding(estimator),
    )
    return search.fit(instances, labels, k, _generator(estimator.random_state))


def _of_decoding(estimator: Any) -> dict[str, Any]:
    """How labels are found, of estimators that have a choice."""
    return {
        name: getattr(estimator, name)
        for name in ("solver", "time_limit")
        if hasattr(estimator, name)
    }


def _generator(given: Any) -> np.random.Generator:
    """That of a `random_state`.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(given, np.random.Generator):
        return given
    if isinstance(given, np.random.RandomState):
        return np.random.default_rng(given.randint(2**31))
    if given is None or (isinstance(given, int | np.integer) and given >= 0):
        return np.random.default_rng(given)
    raise ConfigError(
        f"random_state must be a seed from 0, a generator of numpy or None; got {shortened(given)}"
    )


def _check_positive(estimator: Any, *names: str) -> None:
    for name in names:
        value = getattr(estimator, name)
        fine = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not fine or not 0 < value < np.inf:
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
