"""IBM CPLEX through docplex."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .ascent import ascend
from .errors import SolveFailedError
from .one_by_one import one_by_one
from .problem import Problem
from .solver import ArgmaxSolver, Capabilities, Maximiser

TOLERANCE = 1e-9
"""The tightest that CPLEX takes, absolute."""

SCALED_MAGNITUDE_BITS = 20
"""Scores are scaled to add up to about 2^20, which puts the tolerance below float64 rounding."""


@dataclass(frozen=True)
class Cplex(ArgmaxSolver):
    """Exact for any pairwise problem, by branch and cut in floating point.

    `bound` is CPLEX's own, and `optimal` is said where it meets the re-computed score. CPLEX may stop a
    few digits short of that, so its assignment is improved by single flips first. The community edition
    takes up to 1000 variables.

    Attributes:
        threads: threads of one instance.
    """

    threads: int = 1

    name = "cplex"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        packages=("docplex", "cplex"),
        install="pip install 'structured-vae[cplex]'",
    )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        def solve_one(instance: int, left: float | None) -> tuple[np.ndarray, float]:
            scale = float(np.ldexp(1.0, exponents[instance]))
            z, bound = self._solve(problem, instance, scale, left)
            return z, bound * scale

        exponents = np.frexp(problem.magnitude)[1] - SCALED_MAGNITUDE_BITS
        found = one_by_one(problem, time_limit, solve_one)
        return replace(found, z=ascend(problem, found.z))

    def _solve(
        self, problem: Problem, instance: int, scale: float, left: float | None
    ) -> tuple[np.ndarray, float]:
        from docplex.mp.utils import DOcplexException

        with _model(problem, instance, scale) as model:
            parameters = model.parameters
            parameters.threads = self.threads
            parameters.mip.tolerances.mipgap = 0
            parameters.mip.tolerances.absmipgap = 0
            parameters.mip.tolerances.integrality = 0
            parameters.simplex.tolerances.optimality = TOLERANCE
            parameters.simplex.tolerances.feasibility = TOLERANCE
            if left is not None:
                parameters.timelimit = left
            try:
                found = model.solve()
            except DOcplexException as error:
                raise SolveFailedError(f"CPLEX refused instance {instance}: {error}") from error
            details = model.solve_details
            if found is None and not details.has_hit_limit():
                raise SolveFailedError(f"CPLEX stopped at instance {instance}: {details.status}")
            if found is None:
                return np.zeros(problem.n, np.int8), float("inf")
            values = found.get_value_list(list(model.iter_binary_vars())[: problem.n])
            return np.rint(values).astype(np.int8), float(details.best_bound)


def _model(problem: Problem, instance: int, scale: float) -> Any:
    from docplex.mp.model import Model

    model = Model(checker="off")
    variables = model.binary_var_list(problem.n)
    unary = (problem.unary[instance] / scale).tolist()
    pairwise = (problem.pairwise[instance] / scale).tolist()
    products = model.sum(
        weight * (variables[i] * variables[j])
        for (i, j), weight in zip(problem.edges.tolist(), pairwise, strict=True)
        if weight
    )
    model.maximize(model.scal_prod(variables, unary) + products)
    return model
