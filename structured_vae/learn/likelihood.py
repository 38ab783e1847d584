"""The conditional likelihood of a linear model, maximised by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .instances import Instances, Weights, statistics
from .sums import LogSums


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The objective 1/2 |w|^2 - C sum_i log p(y_i | x_i), convex in the weights w.

    Attributes:
        instances: x.
        observed: the features as often as the true labels have them.
        C: of the likelihood beside the penalty.
        log_sums: log Z and its gradient.
    """

    instances: Instances
    observed: Weights
    C: float
    log_sums: LogSums

    @classmethod
    def of(
        cls,
        instances: Instances,
        labels: np.ndarray,
        k: int,
        C: float,  # noqa: N803  # scikit-learn's name
        log_sums: LogSums,
    ) -> Likelihood:
        """Of labels `[places]`."""
        observed = statistics(instances, labels, k)
        return cls(instances, observed, C, log_sums)

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """At weights in one row."""
        log_z, places, pairs = self.log_sums(self.instances, self.observed.like(vector))
        expected = Weights.of_statistics(self.instances, places, pairs).vector()
        observed = self.observed.vector()
        value = 0.5 * vector @ vector + self.C * (log_z - observed @ vector)
        return float(value), vector + self.C * (expected - observed)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights, after how many steps, and what they were measured by.

    Attributes:
        weights: the model.
        n_iter: steps.
        converged: whether the stopping rule was met.
        objective: its value at the weights.
        gap: how far the objective can be above its minimum at most; None where that is not known.
    """

    weights: Weights
    n_iter: int
    converged: bool
    objective: float
    gap: float | None = None


def maximise_likelihood(objective: Likelihood, tol: float, max_iter: int) -> Fitted:
    """The minimum of the objective by L-BFGS from zero.

    Args:
        objective: what is minimised.
        tol: it ends when a step lowers the objective by less than `tol` times its value.
        max_iter: most steps.
    """
    start = np.zeros_like(objective.observed.vector())
    found = _minimize()(
        objective.value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 0.0},
    )
    converged = found.status == 0
    return Fitted(objective.observed.like(found.x), int(found.nit), converged, float(found.fun))


def _minimize() -> Callable[..., Any]:
    from scipy.optimize import minimize  # optional

    search: Callable[..., Any] = minimize
    return search
