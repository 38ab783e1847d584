"""The conditional likelihood of a linear model, maximised by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .instances import Instances, Weights, statistics
from .scope import EVERYTHING, Scope
from .sums import LogSums


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The objective 1/2 |w|^2 - C sum_i log p(y_i | x_i) in the weights w.

    It is convex where every label is known. Where sets of labels are known, p(y_i | x_i) is the
    probability of all labels that they allow.

    Attributes:
        instances: x.
        observed: the sum of all features at the true labels, times the weights of the instances.
        C: weight of the likelihood relative to the penalty.
        log_sums: computes log Z and its gradient.
        scope: which labels count, and the weights of the instances.
        possible: `[nodes, k]`, the sets of labels; None if every label is known.
    """

    instances: Instances
    observed: Weights
    C: float
    log_sums: LogSums
    scope: Scope = EVERYTHING
    possible: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        instances: Instances,
        labels: np.ndarray,
        k: int,
        C: float,  # noqa: N803  # scikit-learn's name
        log_sums: LogSums,
        scope: Scope = EVERYTHING,
        possible: np.ndarray | None = None,
    ) -> Likelihood:
        """Make the objective from the true labels `[nodes]`, or from sets of them."""
        observed = statistics(instances, labels, k, scope.weights)
        return cls(instances, observed, C, log_sums, scope, possible)

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient at a vector of weights."""
        weights = self.observed.like(vector)
        log_z, expected = self._sums(weights, self.scope)
        if self.possible is None:
            observed = self.observed.vector()
            score = float(observed @ vector)
        else:
            # With sets of labels, the score is the log sum over all labels that they allow.
            score, observed = self._sums(weights, replace(self.scope, possible=self.possible))
        value = 0.5 * vector @ vector + self.C * (log_z - score)
        return float(value), vector + self.C * (expected - observed)

    def _sums(self, weights: Weights, scope: Scope) -> tuple[float, np.ndarray]:
        """Return the sum of log Z over the labels of a scope, and its gradient as a vector."""
        log_z, nodes, pairs = self.log_sums(self.instances, weights, scope)
        return log_z, Weights.of_statistics(self.instances, nodes, pairs).vector()


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of training.

    Attributes:
        weights: the model.
        n_iter: number of steps or passes.
        converged: whether the stopping rule was met.
        objective: the value of the objective at the weights.
        gap: upper bound on the objective minus its minimum; None if training computes none.
    """

    weights: Weights
    n_iter: int
    converged: bool
    objective: float
    gap: float | None = None


def maximise_likelihood(objective: Likelihood, tol: float, max_iter: int) -> Fit:
    """Minimise the objective by L-BFGS, starting from zero.

    Args:
        objective: the objective.
        tol: the search stops when a step lowers the objective by less than `tol` times its value.
        max_iter: maximum number of steps.
    """
    start = np.zeros_like(objective.observed.vector())
    result = _minimize()(
        objective.value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 0.0},
    )
    return Fit(
        weights=objective.observed.like(result.x),
        n_iter=int(result.nit),
        converged=result.status == 0,
        objective=float(result.fun),
    )


def _minimize() -> Callable[..., Any]:
    from scipy.optimize import minimize  # an optional dependency

    search: Callable[..., Any] = minimize
    return search
