"""The pairs of variables that potentials score, as the host knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

from .errors import NetworkError
from .traced import is_traced, is_transformed, plain

T = TypeVar("T")


class HostEdges:
    """The edges of potentials on the host, and results that are computed once from them.

    An encoder copies its tensor of edges once, and passes the copy on with the potentials. Reading
    that tensor would make the host wait for the device in each training step.

    Args:
        edges: `[e, 2]`, integers; the object owns them.

    Example:
        >>> HostEdges(np.array([[0, 1]])).array.tolist()
        [[0, 1]]
    """

    __slots__ = ("_array", "_computed")

    def __init__(self, edges: np.ndarray):
        self._array = np.ascontiguousarray(edges, dtype=np.int64)
        self._array.flags.writeable = False
        self._computed: dict[Any, Any] = {}

    @classmethod
    def of(cls, edges: torch.Tensor) -> HostEdges:
        """Copy a tensor of edges; this waits for the device that has it.

        Raises:
            NetworkError: `vmap` maps over the edges.
        """
        if is_transformed():
            return cls(_of_transform(edges))
        return cls(edges.detach().cpu().numpy().copy())

    @property
    def array(self) -> np.ndarray:
        """The edges `[e, 2]`, read-only."""
        return self._array

    def recall(self, make: Callable[..., T], *arguments: Any) -> T:
        """Return `make(array, *arguments)`, computed once.

        Args:
            make: a function of a module.
            arguments: hashable.
        """
        key = (make, arguments)
        if key not in self._computed:
            self._computed[key] = make(self._array, *arguments)
        result: T = self._computed[key]
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return HostEdges, (self._array.copy(),)


def _of_transform(edges: torch.Tensor) -> np.ndarray:
    """Return edges inside of `torch.func`, where tensors have no numpy view."""
    values = plain(edges)
    if values.ndim != edges.ndim:
        raise NetworkError(
            "vmap cannot map over edges, which the instances share: pass in_dims=None for them"
        )
    return np.array(values.tolist(), dtype=np.int64).reshape(-1, 2)


def once_on_host(edges: torch.Tensor) -> HostEdges | None:
    """Return a copy of edges for a network to keep; None where a call has no values to copy.

    A network copies its edges in its first step, and later steps need not wait for them.

    Args:
        edges: `[e, 2]`, which never change.
    """
    if edges.is_meta or is_traced():
        return None
    return HostEdges.of(edges)
