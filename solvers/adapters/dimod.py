"""Sample with our solvers from code and composites that use dimod."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..conversions import ConversionUnavailableError, from_dimod
from ..solver import ArgmaxSolver
from ..solving.call import solve

_PRESENT = find_spec("dimod") is not None
_Sampler: Any = importlib.import_module("dimod").Sampler if _PRESENT else object


# The base class belongs to an optional package.
class ArgmaxSampler(_Sampler):  # type: ignore[misc]
    """A dimod `Sampler` that returns one sample of lowest energy, certified or not.

    Args:
        solver: a name of `available_solvers()`, a solver object, or "auto".
        time_limit: seconds for each call, unless the call passes its own; None for no limit.

    Raises:
        ConversionUnavailableError: dimod is not installed.

    Example:
        >>> import dimod  # doctest: +SKIP
        >>> sampler = ArgmaxSampler()  # doctest: +SKIP
        >>> model = dimod.BinaryQuadraticModel({}, {"ab": 1.0}, 0.0, "SPIN")  # doctest: +SKIP
        >>> samples = sampler.sample(model)  # doctest: +SKIP
        >>> samples.first.energy, samples.info["optimal"]  # doctest: +SKIP
        (-1.0, True)
    """

    def __init__(self, solver: str | ArgmaxSolver = "auto", time_limit: float | None = None):
        if not _PRESENT:
            raise ConversionUnavailableError("ArgmaxSampler needs dimod: pip install dimod")
        self.solver = solver
        self.time_limit = time_limit

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The arguments of `sample` beside the model."""
        return {"time_limit": []}

    @property
    def properties(self) -> dict[str, Any]:
        """The name of the solver."""
        if isinstance(self.solver, str):
            return {"solver": self.solver}
        return {"solver": self.solver.name}

    def sample(self, bqm: Any, *, time_limit: float | None = None, **others: Any) -> Any:
        """Return a `SampleSet` with the best sample; warn about arguments without effect.

        Its `info` has `optimal` (whether no energy is lower, by an optimality certificate),
        `lower_bound` on the energies, and the name of the `solver`.

        Args:
            bqm: `dimod.BinaryQuadraticModel`, of binaries or spins.
            time_limit: seconds; None for the sampler's time limit.
            others: ignored with a warning, as dimod requires.

        Raises:
            ProblemError: `bqm` is not a binary quadratic model.
            SolverError: see `solve`.
        """
        dimod = importlib.import_module("dimod")
        self.remove_unknown_kwargs(**others)
        if not len(bqm.variables):
            return dimod.SampleSet.from_samples_bqm((np.empty((1, 0)), []), bqm)
        conversion = from_dimod(bqm)
        limit = self.time_limit if time_limit is None else time_limit
        solution = solve(conversion.problem, solver=self.solver, time_limit=limit)
        states = conversion.assignment(solution.z)  # spins as -1 and 1
        info = {
            "optimal": bool(solution.optimal),
            "lower_bound": conversion.objective_bound(solution.z, float(solution.bound)),
            "solver": solution.solver,
        }
        return dimod.SampleSet.from_samples_bqm(states, bqm, info=info)

    def sample_cqm(self, cqm: Any, *, time_limit: float | None = None) -> Any:
        """Return a `SampleSet` with the best sample that satisfies the constraints.

        Its `info` is that of `sample`.

        Args:
            cqm: `dimod.ConstrainedQuadraticModel`, of binaries and spins, with linear constraints.
            time_limit: seconds; None for the sampler's time limit.

        Raises:
            ProblemError: `cqm` is another model.
            InfeasibleError: no sample satisfies the constraints.
            SolverError: see `solve`.
        """
        dimod = importlib.import_module("dimod")
        conversion = from_dimod(cqm)
        limit = self.time_limit if time_limit is None else time_limit
        answer = solve(conversion, solver=self.solver, time_limit=limit)
        spins = {label for label in cqm.variables if cqm.vartype(label) is dimod.SPIN}
        sample = {
            label: 2 * value - 1 if label in spins else value
            for label, value in answer.assignment.items()
        }
        info = {
            "optimal": answer.optimal,
            "lower_bound": answer.bound,
            "solver": answer.solution.solver,
        }
        return dimod.SampleSet.from_samples_cqm(sample, cqm, info=info)
