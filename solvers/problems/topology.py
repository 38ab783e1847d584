"""Store the pairs that a problem scores, and the results that solvers compute from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..arrays import Edges

T = TypeVar("T")


class Topology:
    """Checked pairs of a problem, without their scores, and results that are computed once.

    Many calls share one object, so its pairs are read-only: `edges()` is a copy.

    Args:
        n: number of variables.
        pairs: `[e, 2]` int64, `i < j` in every row, all distinct; the object owns them.
    """

    __slots__ = ("_computed", "_pairs", "e", "n")

    def __init__(self, n: int, pairs: Edges):
        self.n = n
        self.e = len(pairs)
        self._pairs = np.ascontiguousarray(pairs)
        self._computed: dict[Any, Any] = {}

    @property
    def pairs(self) -> Edges:
        """The pairs `[e, 2]`, read-only; copying millions would take longer than reading them."""
        return self._pairs

    def edges(self) -> Edges:
        """Return the pairs `[e, 2]`, as a copy to keep or to change."""
        return self._pairs.copy()

    def recall(self, make: Callable[..., T], *arguments: Any) -> T:
        """Return `make(n, edges, *arguments)`, computed once; it must not be written to.

        Args:
            make: a function of a module; it may keep or change the edges that it gets.
            arguments: hashable arguments.
        """
        key: object = make
        if arguments:
            key = make, arguments
        try:
            return self._computed[key]  # type: ignore[no-any-return]  # the result of `make`
        except KeyError:
            result = make(self.n, self.edges(), *arguments)
            return self._computed.setdefault(key, result)  # type: ignore[no-any-return]

    def recalled(self, make: Callable[..., T]) -> T | None:
        """Return the earlier result of `recall(make)`; None without one."""
        return self._computed.get(make)

    def __reduce__(self) -> tuple[Any, ...]:
        return Topology, (self.n, self._pairs)


def ends(n: int, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second variable of every pair, `[e]` each."""
    return edges[:, 0].copy(), edges[:, 1].copy()
