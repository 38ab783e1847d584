"""Sample with our solvers from code and composites that use dimod."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..conversions import (
    Answer,
    AnyConversion,
    ConversionUnavailableError,
    from_dimod,
    from_polynomial,
)
from ..conversions.polynomials.polynomial import Reduction, Variables
from ..labels.conversions import from_dimod as from_discrete
from ..solver import ArgmaxSolver
from ..solving.call import solve

_PRESENT = find_spec("dimod") is not None
_Bases: tuple[Any, ...] = (object,)
if _PRESENT:
    _dimod: Any = importlib.import_module("dimod")
    _Bases = (_dimod.Sampler, _dimod.PolySampler)


# The base classes belong to an optional package.
class ArgmaxSampler(*_Bases):  # type: ignore[misc]
    """A dimod `Sampler` and `PolySampler` that returns samples of lowest energy, certified or not.

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
        """The arguments of `sample` except the model."""
        return {"time_limit": [], "num_reads": []}

    @property
    def properties(self) -> dict[str, Any]:
        """The name of the solver."""
        if isinstance(self.solver, str):
            return {"solver": self.solver}
        return {"solver": self.solver.name}

    def sample(
        self, bqm: Any, *, time_limit: float | None = None, num_reads: int = 1, **others: Any
    ) -> Any:
        """Return a `SampleSet` with the best samples; warn about arguments without effect.

        Its `info` has `optimal`, `lower_bound` on the energies, the `seconds` of the search, and
        the name of the `solver`. `optimal` is True if a certificate proves that no other sample has
        a lower energy.

        Args:
            bqm: `dimod.BinaryQuadraticModel`, of binaries or spins.
            time_limit: seconds; None for the sampler's time limit.
            num_reads: number of samples, all different, those of lowest energy; fewer if the model
                has fewer states.
            others: ignored with a warning, as dimod requires.

        Raises:
            ProblemError: `bqm` is not a binary quadratic model.
            OptionError: `num_reads` is not a whole number of at least 1.
            SolveFailedError: fewer than `num_reads` samples were found in time.
            SolverError: see `solve`.
        """
        self.remove_unknown_kwargs(**others)
        if not len(bqm.variables):
            return _dimod.SampleSet.from_samples_bqm((np.empty((1, 0)), []), bqm)
        answers = self._answers(from_dimod(bqm), time_limit, num_reads)
        samples = [answer.assignment for answer in answers]  # spins as -1 and 1
        return _dimod.SampleSet.from_samples_bqm(samples, bqm, info=_info(answers))

    def sample_cqm(self, cqm: Any, *, time_limit: float | None = None, num_reads: int = 1) -> Any:
        """Return a `SampleSet` with the best samples that satisfy the hard constraints.

        Its `info` is that of `sample`. Energies and the bound are the objective plus the penalties
        of violated soft constraints.

        Args:
            cqm: `dimod.ConstrainedQuadraticModel`, as `from_dimod` takes it.
            time_limit: seconds; None for the sampler's time limit.
            num_reads: as for `sample`; 1 for a model with products in constraints or with soft
                ones.

        Raises:
            ProblemError: `cqm` is another model.
            InfeasibleError: no sample satisfies the constraints.
            UnsupportedProblemError: several samples of a model with products in constraints or
                with soft ones.
            SolverError: see `sample`.
        """
        conversion = from_dimod(cqm)
        answers = self._answers(conversion, time_limit, num_reads)
        samples = [answer.assignment for answer in answers]  # spins as -1 and 1
        return _dimod.SampleSet.from_samples_cqm(samples, cqm, info=_info(answers))

    def sample_dqm(self, dqm: Any, *, time_limit: float | None = None, num_reads: int = 1) -> Any:
        """Return a `SampleSet` with the best samples of a discrete quadratic model.

        Its `info` is that of `sample`.

        Args:
            dqm: `dimod.DiscreteQuadraticModel`.
            time_limit: seconds; None for the sampler's time limit.
            num_reads: as for `sample`.

        Raises:
            ProblemError: `dqm` is another model.
            SolverError: see `sample`.
        """
        answers = self._answers(from_discrete(dqm), time_limit, num_reads)
        samples = [answer.assignment for answer in answers]
        if dqm.num_variables():
            energies = dqm.energies(samples)
        else:
            energies = [answers[0].value]
        return _dimod.SampleSet.from_samples(samples, "DISCRETE", energies, info=_info(answers))

    def sample_poly(
        self, polynomial: Any, *, time_limit: float | None = None, num_reads: int = 1, **others: Any
    ) -> Any:
        """Return a `SampleSet` with the best samples of a polynomial; warn as `sample` does.

        Its `info` is that of `sample`.

        Args:
            polynomial: `dimod.BinaryPolynomial`, of binaries or spins, of any degree.
            time_limit: seconds; None for the sampler's time limit.
            num_reads: as for `sample`. For more than 1, terms have at most 12 variables.
            others: ignored with a warning, as dimod requires.

        Raises:
            ProblemError: a number is not finite, or a term has too many variables.
            SolverError: see `sample`.
        """
        _dimod.Sampler.remove_unknown_kwargs(self, **others)
        variables: Variables = "bits"
        if polynomial.vartype is _dimod.SPIN:
            variables = "spins"
        reduction: Reduction = "labels"
        if num_reads == 1:
            reduction = "auto"
        terms = {tuple(term): number for term, number in polynomial.items()}
        conversion = from_polynomial(terms, variables=variables, reduction=reduction)
        answers = self._answers(conversion, time_limit, num_reads)
        samples = [answer.assignment for answer in answers]
        if conversion.names:
            energies = polynomial.energies(samples)
        else:
            energies = [answers[0].value]
        return _dimod.SampleSet.from_samples(
            samples, polynomial.vartype, energies, info=_info(answers)
        )

    def _answers(
        self, conversion: AnyConversion[Any], time_limit: float | None, num_reads: int
    ) -> Sequence[Answer]:
        """Return the best answers, the best first."""
        limit = time_limit
        if time_limit is None:
            limit = self.time_limit
        if num_reads == 1:
            return [solve(conversion, solver=self.solver, time_limit=limit)]
        return solve(conversion, solver=self.solver, time_limit=limit, k_best=num_reads)


def _info(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the certificate, bound, time and solver of all samples together."""
    return {
        "optimal": all(answer.optimal for answer in answers),
        "lower_bound": answers[0].bound,
        "seconds": answers[0].seconds,
        "solver": answers[0].solution.solver,
    }
