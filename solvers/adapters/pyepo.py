"""Train PyEPO models whose decisions are an exact argmax of predicted costs."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..arrays import as_array, to_numpy
from ..conversions import ConversionUnavailableError
from ..errors import ProblemError
from ..problems.pairs import topology_of
from ..solver import ArgmaxSolver
from ..solving.prepared import prepare

_PRESENT = find_spec("pyepo") is not None
_OptModel: Any = importlib.import_module("pyepo.model.opt").optModel if _PRESENT else object


# The base class belongs to an optional package.
class PairwiseModel(_OptModel):  # type: ignore[misc]
    """A PyEPO `optModel` whose decisions maximise a pairwise binary score.

    The costs c `[n + e]` are the unary scores followed by the pairwise ones. The decision x `[n +
    e]` is the state z followed by its products z_i z_j. So c @ x = score(z) is linear in the
    predictions, as PyEPO's losses require.

    Args:
        edges: `[e, 2]`.
        n: number of variables.
        solver: a name of `available_solvers()`, a solver object, or "auto".
        time_limit: seconds for each instance; None for no limit.

    Raises:
        ConversionUnavailableError: PyEPO is not installed.
        ProblemError: `edges` are not pairs of variables.
    """

    def __init__(
        self,
        edges: Any,
        n: int,
        solver: str | ArgmaxSolver = "auto",
        time_limit: float | None = None,
    ):
        if not _PRESENT:
            raise ConversionUnavailableError("PairwiseModel needs PyEPO: pip install pyepo")
        self.n = n
        self._prepared = prepare(edges, n, solver=solver, time_limit=time_limit)
        self._edges = topology_of(edges, n).edges()
        self._costs = np.zeros(0)
        super().__init__()
        self.modelSense = importlib.import_module("pyepo").EPO.MAXIMIZE

    def _getModel(self) -> tuple[Any, range]:  # noqa: N802  # PyEPO's name
        return self._prepared, range(self.n + len(self._edges))

    def setObj(self, c: Any) -> None:  # noqa: N802  # PyEPO's name
        """Set the costs `[n + e]` of the next `solve`.

        Raises:
            ProblemError: the costs have another shape.
        """
        costs = np.asarray(to_numpy(as_array(c, "costs")), np.float64)
        if costs.shape != (self.num_cost,):
            raise ProblemError(
                f"costs must be [{self.num_cost}], n + e; their shape is {costs.shape}"
            )
        self._costs = costs

    def solve(self) -> tuple[np.ndarray, float]:
        """Return the decision x `[n + e]` of the highest c @ x, and that value.

        Raises:
            SolverError: see `solvers.solve`.
        """
        solution = self._prepared(self._costs[: self.n], self._costs[self.n :])
        first, second = self._edges.T
        z = solution.z.astype(np.float64)
        return np.concatenate([z, z[first] * z[second]]), float(solution.score)
