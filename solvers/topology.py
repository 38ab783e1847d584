"""Which pairs of variables a problem scores, with what solvers have found out about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .arrays import Edges

T = TypeVar("T")


class Topology:
    """The checked pairs of a problem, without their scores, and what is worked out once for them all.

    Many calls share one, so nobody writes to its pairs: `edges()` is a copy.

    Args:
        n: number of variables.
        pairs: `[e, 2]` int64, `i < j` in every row, no row twice; nobody else's.
    """

    __slots__ = ("_found", "_pairs", "e", "n")

    def __init__(self, n: int, pairs: Edges):
        self.n = n
        self.e = len(pairs)
        self._pairs = np.ascontiguousarray(pairs)
        self._found: dict[Any, Any] = {}

    @property
    def pairs(self) -> Edges:
        """`[e, 2]`: the pairs themselves, to read alone; a copy of millions takes longer than a pass over them."""
        return self._pairs

    def edges(self) -> Edges:
        """`[e, 2]`: the pairs, to keep or to change."""
        return self._pairs.copy()

    def recall(self, make: Callable[..., T], *arguments: Any) -> T:
        """`make(n, edges, *arguments)`, made on the first call; it must not be written to.

        Args:
            make: a function of a module; may keep or change the edges that it gets.
            arguments: hashable.
        """
        key = (make, arguments) if arguments else make
        try:
            return self._found[key]  # type: ignore[no-any-return]  # what `make` returned
        except KeyError:
            return self._found.setdefault(key, make(self.n, self.edges(), *arguments))  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return Topology, (self.n, self._pairs)


def ends(n: int, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """`[e]`, `[e]`: the first and the second variable of every pair."""
    return edges[:, 0].copy(), edges[:, 1].copy()
