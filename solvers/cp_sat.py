"""OR-Tools CP-SAT on integer scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import SolveFailedError
from .fixed_point import FixedPoint
from .one_by_one import one_by_one
from .problem import Problem
from .solver import ArgmaxSolver, Capabilities, Maximiser


@dataclass(frozen=True)
class CpSat(ArgmaxSolver):
    """Exact for any pairwise problem, by clause learning over integer scores (`FixedPoint`).

    A product z_i z_j is a Boolean of its own, tied to its two variables on the side that the sign of
    its score needs.

    Attributes:
        threads: search workers of one instance.
    """

    threads: int = 1

    name = "cp_sat"
    capabilities = Capabilities(
        exact=True, time_limit=True, packages=("ortools",), install="pip install ortools"
    )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return one_by_one(problem, time_limit, self._solve)

    def _solve(self, problem: Problem, left: float | None) -> tuple[np.ndarray, float]:
        from ortools.sat.python import cp_model  # takes a while to import

        scores = FixedPoint.of(problem)
        model, variables = _model(cp_model, scores)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = self.threads
        solver.parameters.linearization_level = 2  # three times faster on dense problems than 1
        if left is not None:
            solver.parameters.max_time_in_seconds = left
        status = solver.solve(model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            z = np.array([solver.boolean_value(variable) for variable in variables], np.int8)
        elif status == cp_model.UNKNOWN:
            z = np.zeros(len(variables), np.int8)
        else:
            raise SolveFailedError(
                f"CP-SAT stopped with status {solver.status_name(status)}: "
                f"{model.validate() or solver.solution_info()}"
            )
        return z, float(scores.bound(np.array([solver.best_objective_bound]))[0])


def _model(cp_model: Any, scores: FixedPoint) -> tuple[Any, list[Any]]:
    model = cp_model.CpModel()
    variables = [model.new_bool_var("") for _ in range(scores.unary.shape[1])]
    terms, weights = list(variables), scores.unary[0].tolist()
    for (i, j), weight in zip(scores.edges.tolist(), scores.pairwise[0].tolist(), strict=True):
        if weight == 0:
            continue
        both = model.new_bool_var("")
        if weight > 0:
            model.add_implication(both, variables[i])
            model.add_implication(both, variables[j])
        else:
            model.add_bool_or(~variables[i], ~variables[j], both)
        terms.append(both)
        weights.append(weight)
    model.maximize(cp_model.LinearExpr.weighted_sum(terms, weights))
    return model, variables
