"""Arrays of any kind in, the same kind out, through the Python array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Protocol, TypeAlias, cast

import array_api_compat
import numpy as np
from jaxtyping import Bool, Float, Int
from typing_extensions import TypeVar  # with a default, as Python 3.13 has it

from .errors import ProblemError, shortened
from .limits.memory import SMALL, check_memory, needs_room

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

    Its negative says of which kind an array is: that of a torch `Parameter` is a `Tensor`, as
    answers are.
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _home_of_name, (self.namespace.__name__, self.device)

    @property
    def on_host(self) -> bool:
        """Whether numpy can look at these arrays without a copy."""
        if self is NUMPY:
            return True
        if array_api_compat.is_torch_namespace(self.namespace):
            return bool(self.device.type == "cpu")
        return array_api_compat.is_numpy_namespace(self.namespace)

    def place(self, array: Array) -> ArrayT:
        """A numpy array as one that lives here; any other array as it is."""
        if (
            self is NUMPY
            or not isinstance(array, np.ndarray)
            or array_api_compat.is_numpy_namespace(self.namespace)
        ):
            return cast("ArrayT", array)
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        return cast("ArrayT", self.namespace.asarray(native, device=self.device))


NUMPY: Home = Home(array_api_compat.array_namespace(np.empty(0)), "cpu")
"""Of numpy's own arrays, which most calls bring."""


def _home_of_name(namespace: str, device: Any) -> Home:
    """A copy; numpy's is the one that there is."""
    return (
        NUMPY if namespace == NUMPY.namespace.__name__ else Home(import_module(namespace), device)
    )


def home_of(*arrays: Array) -> Home:
    """The one namespace and device of `arrays`.

    Raises:
        ProblemError: they come from different libraries or devices.
    """
    for array in arrays:
        if type(array) is not np.ndarray:
            break
    else:
        return NUMPY
    try:
        namespace = array_api_compat.array_namespace(*arrays)
    except TypeError as error:
        kinds = ", ".join(type(array).__name__ for array in arrays)
        raise ProblemError(f"all arrays must be of one library; got {kinds}") from error
    devices = {str(array_api_compat.device(array)): array for array in arrays}
    if len(devices) > 1:
        raise ProblemError(f"all arrays must be on one device; got {', '.join(devices)}")
    return Home(namespace, array_api_compat.device(arrays[0]))


_FEW = SMALL // 8  # numbers of double precision; so few always fit into memory


def as_array(values: Any, name: str) -> Array:
    """`values` itself where it is an array (without its gradient), else a numpy array of it.

    Args:
        values: what the caller passed.
        name: of the argument, for errors.

    Raises:
        ProblemError: no array of numbers, a masked array, lists of unequal lengths, or a tensor
            without a number for every place.
        ProblemTooLargeError: an array of more numbers than memory holds, such as a view of one.
    """
    if type(values) is np.ndarray and not values.dtype.hasobject and values.size <= _FEW:
        return values
    array = _array_of(values, name)
    # a view of one number can stand for what no memory holds
    check_room(name, array, math.prod(array.shape))
    return array


def check_room(what: str, array: Array, numbers: int) -> None:
    """Refuses so many numbers beside `array` on the host; a device says for itself what it cannot hold.

    Raises:
        ProblemTooLargeError: in double precision they need more memory than is free.
    """
    if needs_room(numbers) and str(array_api_compat.device(array)) == "cpu":
        check_memory(what, numbers)


def _array_of(values: Any, name: str) -> Array:
    if array_api_compat.is_torch_array(values):
        _check_dense(values, name)
        return values.detach()
    if isinstance(values, np.ma.MaskedArray):
        raise ProblemError(
            f"{name} is a masked array, which does not say what its masked numbers are; pass {name}.filled(...)"
        )
    if array_api_compat.is_array_api_obj(values) and not isinstance(
        values, np.ndarray | np.generic
    ):
        return values
    _check_order(values, name)
    try:
        array = np.asarray(values)  # a subclass of ndarray, such as matrix, becomes its base
    except ValueError as error:
        raise ProblemError(
            f"the lists of {name} must have equal lengths, level by level: {error}"
        ) from error
    except (TypeError, RuntimeError, OverflowError) as error:  # lists of sparse tensors, for one
        raise ProblemError(f"{name} is no array of numbers: {error}") from error
    if array.dtype == object:
        found = shortened(values)
        raise ProblemError(
            f"{name} must be an array of real numbers, or lists of them; got {found}"
        )
    return array


def _check_order(values: Any, name: str) -> None:
    """Refuses a table of pandas whose columns have the names of its rows in another order: places say nothing then."""
    if not hasattr(values, "columns") or not hasattr(values, "index") or callable(values.index):
        return
    rows, columns = list(values.index), list(values.columns)
    if rows != columns and len(rows) == len(columns) and set(rows) == set(columns):
        raise ProblemError(
            f"the rows and columns of {name} have the same names in different orders; pass "
            f"{name}.loc[names, names].to_numpy(), names being a list of them"
        )


def _check_dense(tensor: Array, name: str) -> None:
    """Refuses a torch tensor that has no real number for every place."""
    if tensor.is_complex():
        raise ProblemError(f"{name} must hold real numbers; its type is {tensor.dtype}")
    if tensor.is_nested:
        raise ProblemError(
            f"{name} is a nested tensor; pass its parts one by one, or padded to one length"
        )
    if str(tensor.layout) != "torch.strided":
        raise ProblemError(
            f"{name} is a tensor of the layout {tensor.layout}; pass {name}.to_dense(), and pairs as "
            "pairwise [..., e] with edges [e, 2]"
        )
    if tensor.is_meta:
        raise ProblemError(
            f"{name} is on the device meta, which keeps no numbers; pass one with data"
        )
    if tensor.is_quantized:
        raise ProblemError(f"{name} is a quantized tensor; pass {name}.dequantize()")


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
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    xp = namespace_of(array)
    return xp.astype(array, xp.float64, copy=False)


def to_numpy(array: Array) -> np.ndarray:
    """`array` as a numpy array; no copy where it is on the host."""
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        host = array.detach().cpu().resolve_neg()
        small = host.is_floating_point() and host.element_size() < 4
        return np.asarray(host.float() if small else host)  # numpy has no bfloat16
    return np.from_dlpack(array, device="cpu")
