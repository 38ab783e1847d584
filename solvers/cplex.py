"""IBM CPLEX through docplex."""

from __future__ import annotations

from dataclasses import dataclass
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
        return one_by_one(problem, time_limit, self._solve)

    def _solve(self, problem: Problem, left: float | None) -> tuple[np.ndarray, float]:
        from docplex.mp.utils import DOcplexException

        scale = problem.scale(SCALED_MAGNITUDE_BITS)
        with _model(problem, scale) as model:
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
                raise SolveFailedError(f"CPLEX refused an instance of n = {problem.n}: {error}") from error
            details = model.solve_details
            if found is None and not details.has_hit_limit():
                raise SolveFailedError(f"CPLEX stopped without an answer: {details.status}")
            if found is None:
                return np.zeros(problem.n, np.int8), float("inf")
            values = found.get_value_list(list(model.iter_binary_vars())[: problem.n])
            z = np.rint(values).astype(np.int8)
            return ascend(problem, z[None])[0], float(details.best_bound) * scale


def _model(problem: Problem, scale: float) -> Any:
    from docplex.mp.model import Model

    model = Model(checker="off")
    variables = model.binary_var_list(problem.n)
    unary = (problem.unary[0] / scale).tolist()
    pairwise = (problem.pairwise[0] / scale).tolist()
    products = model.sum(
        weight * (variables[i] * variables[j])
        for (i, j), weight in zip(problem.edges.tolist(), pairwise, strict=True)
        if weight
    )
    model.maximize(model.scal_prod(variables, unary) + products)
    return model
