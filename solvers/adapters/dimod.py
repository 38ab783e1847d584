"""A dimod sampler: for code and composites that speak dimod."""

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


class ArgmaxSampler(_Sampler):  # type: ignore[misc]  # a class of another package, which may be missing
    """A dimod `Sampler` that returns one sample of lowest energy, proved or not.

    Args:
        solver: a name of `available_solvers()`, a solver object, or "auto".
        time_limit: seconds for each call, unless the call has its own; None for no limit.

    Raises:
        ConversionUnavailableError: dimod is not installed.

    Example:
        >>> import dimod  # doctest: +SKIP
        >>> sampler = ArgmaxSampler()  # doctest: +SKIP
        >>> found = sampler.sample(dimod.BinaryQuadraticModel({}, {"ab": 1.0}, 0.0, "SPIN"))  # doctest: +SKIP
        >>> found.first.energy, found.info["optimal"]  # doctest: +SKIP
        (-1.0, True)
    """

    def __init__(self, solver: str | ArgmaxSolver = "auto", time_limit: float | None = None):
        if not _PRESENT:
            raise ConversionUnavailableError("ArgmaxSampler needs dimod: pip install dimod")
        self.solver, self.time_limit = solver, time_limit

    @property
    def parameters(self) -> dict[str, list[str]]:
        """What `sample` takes beside the model."""
        return {"time_limit": []}

    @property
    def properties(self) -> dict[str, Any]:
        """The solver, by name."""
        named = isinstance(self.solver, str)
        return {"solver": self.solver if named else self.solver.name}  # type: ignore[union-attr]  # an object then

    def sample(self, bqm: Any, *, time_limit: float | None = None, **others: Any) -> Any:
        """A `SampleSet` of the one sample that was found; a warning for arguments that mean nothing here.

        Its `info` has `optimal` (whether it is proved that no energy is lower), `lower_bound` of
        the energies, and the name of the `solver`.

        Args:
            bqm: `dimod.BinaryQuadraticModel`, of binaries or spins.
            time_limit: seconds; None for the sampler's own.
            others: ignored, as dimod asks for.

        Raises:
            ProblemError: not a binary quadratic model.
            SolverError: as `solve`.
        """
        dimod = importlib.import_module("dimod")
        self.remove_unknown_kwargs(**others)
        if not len(bqm.variables):
            return dimod.SampleSet.from_samples_bqm((np.empty((1, 0)), []), bqm)
        conversion = from_dimod(bqm)
        limit = self.time_limit if time_limit is None else time_limit
        found = solve(conversion.problem, solver=self.solver, time_limit=limit)
        states = conversion.assignment(found.z)  # spins as -1 and 1
        info = {
            "optimal": bool(found.optimal),
            "lower_bound": conversion.objective_bound(found.z, float(found.bound)),
            "solver": found.solver,
        }
        return dimod.SampleSet.from_samples_bqm(states, bqm, info=info)

    def sample_cqm(self, cqm: Any, *, time_limit: float | None = None) -> Any:
        """A `SampleSet` of the one sample that was found, which satisfies the constraints; `info` as that of `sample`.

        Args:
            cqm: `dimod.ConstrainedQuadraticModel`, of binaries and spins, with linear constraints.
            time_limit: seconds; None for the sampler's own.

        Raises:
            ProblemError: another model.
            InfeasibleError: no sample satisfies the constraints.
            SolverError: as `solve`.
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
