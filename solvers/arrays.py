"""Arrays of any kind in, the same kind out, through the Python array API standard."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from jaxtyping import Bool, Float, Int

from .errors import ProblemError

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""

Unary: TypeAlias = Float[Array, "batch n"]
Pairwise: TypeAlias = Float[Array, "batch e"]
Edges: TypeAlias = Int[np.ndarray, "e 2"]
States: TypeAlias = Int[Array, "batch n"]
Scores: TypeAlias = Float[Array, "batch"]
Flags: TypeAlias = Bool[Array, "batch"]


@dataclass(frozen=True)
class Home:
    """Where the caller's arrays live, so that answers can go back there."""

    namespace: ModuleType
    device: Any

    @property
    def on_host(self) -> bool:
        """Whether numpy can look at these arrays without a copy."""
        if array_api_compat.is_torch_namespace(self.namespace):
            return bool(self.device.type == "cpu")
        return array_api_compat.is_numpy_namespace(self.namespace)

    def place(self, array: Array) -> Array:
        """A numpy array as one that lives here; any other array as it is."""
        if not isinstance(array, np.ndarray) or array_api_compat.is_numpy_namespace(self.namespace):
            return array
        return self.namespace.asarray(array, device=self.device)


def home_of(*arrays: Array) -> Home:
    """The one namespace and device of `arrays`.

    Raises:
        ProblemError: they come from different libraries or devices.
    """
    try:
        namespace = array_api_compat.array_namespace(*arrays)
    except TypeError as error:
        kinds = ", ".join(type(array).__name__ for array in arrays)
        raise ProblemError(f"all arrays must be of one library; got {kinds}") from error
    devices = {str(array_api_compat.device(array)): array for array in arrays}
    if len(devices) > 1:
        raise ProblemError(f"all arrays must be on one device; got {', '.join(devices)}")
    return Home(namespace, array_api_compat.device(arrays[0]))


def as_array(values: Any) -> Array:
    """`values` itself where it is an array (without its gradient), else a numpy array of it.

    Raises:
        ProblemError: a masked array, or lists of unequal lengths.
    """
    if array_api_compat.is_torch_array(values):
        return values.detach()
    if isinstance(values, np.ma.MaskedArray):
        raise ProblemError("a masked array does not say what its masked numbers are; pass array.filled(...)")
    if array_api_compat.is_array_api_obj(values) and not isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values)  # a subclass of ndarray, such as matrix, becomes its base
    except ValueError as error:
        raise ProblemError(f"lists must have equal lengths, level by level: {error}") from error


def namespace_of(array: Array) -> Any:
    """The array functions for `array`."""
    return np if isinstance(array, np.ndarray) else array_api_compat.array_namespace(array)


def beside(array: Array, values: np.ndarray) -> Array:
    """The numpy array `values` as an array of the kind and on the device of `array`."""
    if isinstance(array, np.ndarray):
        return values
    return namespace_of(array).asarray(values, device=array_api_compat.device(array))


def as_float64(array: Array) -> Array:
    """`array` in double precision."""
    xp = namespace_of(array)
    return xp.astype(array, xp.float64, copy=False)


def to_numpy(array: Array) -> np.ndarray:
    """`array` as a numpy array; no copy where it is on the host."""
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu())
    return np.from_dlpack(array, device="cpu")
