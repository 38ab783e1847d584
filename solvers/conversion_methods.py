"""The functions of `solvers.conversions` as methods of a problem.

Each gives what its function gives: a problem cannot carry the constant, the sign and the names of another convention,
so `from_` methods give a `Conversion`, which holds them beside the problem. Imported when they are called, since
conversions stand on the problem.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .conversions.conversion import Conversion, Labels, Sense
    from .problem import Problem


class ConversionMethods:
    """What `Problem` inherits."""

    @staticmethod
    def from_qubo(Q: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name everywhere
        """`solvers.conversions.from_qubo`: from sum_(i,j) Q[i,j] z_i z_j, a dict of label pairs or `[n, n]`.

        Example:
            >>> from solvers import Problem
            >>> conversion = Problem.from_qubo({("a", "a"): 1.0, ("a", "b"): -3.0})
            >>> conversion.problem.n, conversion.value(2.0)
            (2, -2.0)
        """
        from .conversions import from_qubo

        return from_qubo(Q, sense)

    @staticmethod
    def from_ising(h: Any, J: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name
        """`solvers.conversions.from_ising`: from sum_i h_i s_i + sum_(i,j) J[i,j] s_i s_j, spins s = 2z - 1."""
        from .conversions import from_ising

        return from_ising(h, J, sense)

    @staticmethod
    def from_max_cut(n: int, edges: Any, weights: Any = None) -> Conversion:
        """`solvers.conversions.from_max_cut`: from the weight of the edges `[e, 2]` whose ends differ."""
        from .conversions import from_max_cut

        return from_max_cut(n, edges, weights)

    @staticmethod
    def from_networkx(graph: Any, unary: str = "unary", pairwise: str = "pairwise") -> Conversion:
        """`solvers.conversions.from_networkx`: from the scores on the nodes and edges of a graph."""
        from .conversions import from_networkx

        return from_networkx(graph, unary, pairwise)

    @staticmethod
    def from_dimod(bqm: Any) -> Conversion:
        """`solvers.conversions.from_dimod`: from a binary quadratic model, minimised."""
        from .conversions import from_dimod

        return from_dimod(bqm)

    def to_qubo(self, labels: Labels | None = None) -> dict[tuple[Hashable, Hashable], float]:
        """`solvers.conversions.to_qubo`: the entries Q[i, j] of -score(z)."""
        from .conversions import to_qubo

        return to_qubo(cast("Problem", self), labels)

    def to_ising(
        self, labels: Labels | None = None
    ) -> tuple[dict[Hashable, float], dict[tuple[Hashable, Hashable], float], float]:
        """`solvers.conversions.to_ising`: (h, J, offset) of -score(z)."""
        from .conversions import to_ising

        return to_ising(cast("Problem", self), labels)

    def to_networkx(self, labels: Labels | None = None) -> Any:
        """`solvers.conversions.to_networkx`: a graph with the scores as attributes."""
        from .conversions import to_networkx

        return to_networkx(cast("Problem", self), labels)

    def to_dimod(self, labels: Labels | None = None) -> Any:
        """`solvers.conversions.to_dimod`: a binary quadratic model whose energy is -score(z)."""
        from .conversions import to_dimod

        return to_dimod(cast("Problem", self), labels)
