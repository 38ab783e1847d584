"""Arrays of any kind in, the same kind out, through the Python array API standard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, Protocol, TypeAlias, cast

import array_api_compat
import numpy as np
from jaxtyping import Bool, Float, Int
from typing_extensions import TypeVar  # with a default, as Python 3.13 has it

from .errors import ProblemError

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""

ArrayT = TypeVar("ArrayT", bound=Any, default=Any)
"""The caller's kind of array, which answers have too: numpy's for lists."""

GivenT = TypeVar("GivenT")
"""`ArrayT` where a class of that parameter makes an object: pyright has given `ArrayT` its default there."""

ArrayT_co = TypeVar("ArrayT_co", covariant=True)

ArrayLike: TypeAlias = np.ndarray | Sequence[Any]
"""What is numpy's, or becomes it: lists, level by level."""


class ArrayOf(Protocol[ArrayT_co]):
    """What type checkers know other libraries' arrays by.

    Its negative says of which kind an array is: that of a torch `Parameter` is a `Tensor`, as answers are.
    """

    def __neg__(self) -> ArrayT_co: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


Unary: TypeAlias = Float[Array, "batch n"]
Pairwise: TypeAlias = Float[Array, "batch e"]
Edges: TypeAlias = Int[np.ndarray, "e 2"]
States: TypeAlias = Int[Array, "batch n"]
Scores: TypeAlias = Float[Array, "batch"]
Flags: TypeAlias = Bool[Array, "batch"]


@dataclass(frozen=True)
class Home(Generic[ArrayT]):
    """Where the caller's arrays live, so that answers can go back there."""

    namespace: ModuleType
    device: Any

    @property
    def on_host(self) -> bool:
        """Whether numpy can look at these arrays without a copy."""
        if array_api_compat.is_torch_namespace(self.namespace):
            return bool(self.device.type == "cpu")
        return array_api_compat.is_numpy_namespace(self.namespace)

    def place(self, array: Array) -> ArrayT:
        """A numpy array as one that lives here; any other array as it is."""
        if not isinstance(array, np.ndarray) or array_api_compat.is_numpy_namespace(self.namespace):
            return cast("ArrayT", array)
        return cast("ArrayT", self.namespace.asarray(array, device=self.device))


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
