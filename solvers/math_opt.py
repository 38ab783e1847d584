"""OR-Tools MathOpt with HiGHS, mixed-integer programming in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from .ascent import ascend
from .errors import SolveFailedError
from .one_by_one import one_by_one
from .problem import Problem
from .solver import ArgmaxSolver, Capabilities, Maximiser

SCALED_MAGNITUDE_BITS = 30
"""Scores are scaled to add up to about 2^30, which puts HiGHS' absolute tolerances below float64 rounding."""


@dataclass(frozen=True)
class MathOpt(ArgmaxSolver):
    """Exact for any pairwise problem, by HiGHS' branch and cut on the linearised problem.

    `bound` is HiGHS' own, and `optimal` is said where it meets the re-computed score; the assignment is
    improved by single flips first.
    """

    name = "math_opt"
    capabilities = Capabilities(
        exact=True, time_limit=True, packages=("ortools",), install="pip install ortools"
    )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return one_by_one(problem, time_limit, _solve)


def _solve(problem: Problem, left: float | None) -> tuple[np.ndarray, float]:
    from ortools.math_opt.python import mathopt  # takes a while to import

    scale = problem.scale(SCALED_MAGNITUDE_BITS)
    model, variables = _model(mathopt, problem, scale)
    parameters = mathopt.SolveParameters(
        relative_gap_tolerance=0.0,
        absolute_gap_tolerance=0.0,
        time_limit=None if left is None else timedelta(seconds=left),
    )
    try:
        result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters)
    except RuntimeError as error:
        raise SolveFailedError(f"HiGHS stopped at an instance of n = {problem.n}: {error}") from error
    bound = float(result.termination.objective_bounds.dual_bound) * scale
    if not result.has_primal_feasible_solution():
        return np.zeros(problem.n, np.int8), bound
    values = result.variable_values(variables)
    return ascend(problem, np.rint(values).astype(np.int8)[None])[0], bound


def _model(mathopt: Any, problem: Problem, scale: float) -> tuple[Any, list[Any]]:
    """A product z_i z_j is a variable of its own, tied on the side that the sign of its score needs."""
    model = mathopt.Model()
    variables = [model.add_binary_variable() for _ in range(problem.n)]
    terms = [score * z for score, z in zip((problem.unary[0] / scale).tolist(), variables, strict=True)]
    weights = (problem.pairwise[0] / scale).tolist()
    for (i, j), weight in zip(problem.edges.tolist(), weights, strict=True):
        if weight == 0:
            continue
        both = model.add_variable(lb=0.0, ub=1.0)
        if weight > 0:
            model.add_linear_constraint(both <= variables[i])
            model.add_linear_constraint(both <= variables[j])
        else:
            model.add_linear_constraint(both >= variables[i] + variables[j] - 1)
        terms.append(weight * both)
    model.maximize(mathopt.fast_sum(terms))
    return model, variables
