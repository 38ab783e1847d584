"""Take arrays of any kind and return the same kind, through the Python array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Generic, Protocol, TypeAlias, cast

import array_api_compat
import numpy as np
from typing_extensions import TypeVar  # with a default, as Python 3.13 has it

from .errors import ProblemError, shortened
from .limits.memory import SMALL, check_memory, needs_room

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""

ArrayT = TypeVar("ArrayT", bound=Any, default=Any)
"""Type of the caller's arrays, which is also the type of answers; numpy arrays for lists."""

GivenT = TypeVar("GivenT")
"""`ArrayT` for class methods that build an object.

In such methods, Pyright would replace `ArrayT` by its default."""

ArrayT_co = TypeVar("ArrayT_co", covariant=True)

ArrayLike: TypeAlias = np.ndarray | Sequence[Any]
"""A numpy array, or nested lists that become one."""


class ArrayOf(Protocol[ArrayT_co]):
    """Protocol by which type checkers recognise arrays of other libraries.

    The type of an array's negative is its kind: that of a torch `Parameter` is a `Tensor`, which is
    also the type of answers.
    """

    def __neg__(self) -> ArrayT_co: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


# Not jaxtyping's types: these names exist while a program runs, and jaxtyping takes 60 ms to import.
Unary: TypeAlias = Annotated[Array, "float [batch, n]"]
Pairwise: TypeAlias = Annotated[Array, "float [batch, e]"]
Edges: TypeAlias = Annotated[np.ndarray, "int [e, 2]"]
States: TypeAlias = Annotated[Array, "int [batch, n]"]
Scores: TypeAlias = Annotated[Array, "float [batch]"]
Flags: TypeAlias = Annotated[Array, "bool [batch]"]


@dataclass(frozen=True)
class Home(Generic[ArrayT]):
    """Library and device of the caller's arrays, to which answers go back."""

    namespace: ModuleType
    device: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return _home_of_name, (self.namespace.__name__, self.device)

    @property
    def on_host(self) -> bool:
        """Whether numpy can read these arrays without a copy."""
        if self is NUMPY:
            return True
        if array_api_compat.is_torch_namespace(self.namespace):
            return bool(self.device.type == "cpu")
        return array_api_compat.is_numpy_namespace(self.namespace)

    def place(self, array: Array) -> ArrayT:
        """Return a numpy array as an array of this library and device; others unchanged."""
        if (
            self is NUMPY
            or not isinstance(array, np.ndarray)
            or array_api_compat.is_numpy_namespace(self.namespace)
        ):
            return cast("ArrayT", array)
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        return cast("ArrayT", self.namespace.asarray(native, device=self.device))


NUMPY: Home = Home(np, "cpu")
"""The home of numpy arrays, which most calls pass.

numpy follows the standard by itself since version 2. array_api_compat would import all of numpy's
modules in addition, among them its compiler of Fortran.
"""


def _home_of_name(namespace: str, device: Any) -> Home:
    """Return a home by the name of its library, for pickle; numpy's is always `NUMPY`."""
    if namespace == NUMPY.namespace.__name__:
        return NUMPY
    return Home(import_module(namespace), device)


def home_of(*arrays: Array) -> Home:
    """Return the common library and device of `arrays`.

    Raises:
        ProblemError: they come from different libraries or devices.
    """
    if all(isinstance(array, np.ndarray | np.generic) for array in arrays):
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


_FEW = SMALL // 8
"""Numbers in double precision that always fit into memory."""


def as_array(values: Any, name: str) -> Array:
    """Return `values` if it is an array (without its gradient), else a numpy array of it.

    Args:
        values: the caller's argument.
        name: the name of the argument, for errors.

    Raises:
        ProblemError: `values` are not an array of numbers, are a masked array or lists of unequal
            lengths, or are a tensor that lacks a number for some place.
        ProblemTooLargeError: the numbers of the array, which may be a view, do not fit into memory.
    """
    if type(values) is np.ndarray and not values.dtype.hasobject and values.size <= _FEW:
        return values
    array = _array_of(values, name)
    # A view of one number can stand for an array that no memory holds.
    check_room(name, array, math.prod(array.shape))
    return array


def check_room(what: str, array: Array, numbers: int) -> None:
    """Raise if this many numbers do not fit into memory next to `array` on the host.

    A device reports lack of memory by itself.

    Raises:
        ProblemTooLargeError: in double precision they need more memory than is free.
    """
    # "cpu", or "array_api_strict.Device('CPU_DEVICE')"
    if needs_room(numbers) and "cpu" in str(array_api_compat.device(array)).lower():
        check_memory(what, numbers)


def _array_of(values: Any, name: str) -> Array:
    if array_api_compat.is_torch_array(values):
        _check_dense(values, name)
        return values.detach()
    if isinstance(values, np.ma.MaskedArray):
        raise ProblemError(
            f"{name} is a masked array, whose masked numbers are undefined; pass {name}.filled(...)"
        )
    numpy_like = isinstance(values, np.ndarray | np.generic)
    if array_api_compat.is_array_api_obj(values) and not numpy_like:
        return values
    _check_order(values, name)
    try:
        array = np.asarray(values)  # a subclass of ndarray, such as matrix, becomes an ndarray
    except ValueError as error:
        raise ProblemError(
            f"the lists of {name} must have equal lengths at every level: {error}"
        ) from error
    except (TypeError, RuntimeError, OverflowError) as error:  # such as lists of sparse tensors
        raise ProblemError(f"{name} is not an array of numbers: {error}") from error
    if array.dtype == object:
        array = _of_objects(array, name, values)
    if array.dtype.kind == "f" and isinstance(values, list | tuple):
        _check_listed(array, values, name)
    return array


LARGEST_EXACT = 2**53
"""The largest integer up to which float64 holds all integers."""

KEEPS_EXACT = (
    "from_qubo and the other conversions of solvers.conversions keep fractions, decimals and "
    "integers of any size"
)
"""The end of errors about numbers that float64 rounds."""


def _of_objects(array: np.ndarray, name: str, values: Any) -> np.ndarray:
    """Return an array of objects as float64, such as a pandas table with columns of two types.

    Raises:
        ProblemError: the objects are not numbers, or float64 may round them.
    """
    entries = array.ravel().tolist()
    if all(isinstance(entry, int | float) and _is_float64(entry) for entry in entries):
        return array.astype(np.float64)
    if all(isinstance(entry, int | float | Fraction | Decimal) for entry in entries):
        raise ProblemError(f"{name} has numbers that float64 may round; {KEEPS_EXACT}")
    raise ProblemError(
        f"{name} must be an array of real numbers, or lists of them; got {shortened(values)}"
    )


def _is_float64(number: Any) -> bool:
    """Return whether float64 holds a Python number without rounding."""
    if isinstance(number, float):
        return True
    try:
        return bool(int(float(number)) == number)
    except OverflowError:
        return False


def _check_listed(array: np.ndarray, values: Any, name: str) -> None:
    """Raise for lists of integers and floats if numpy's floats round one of the integers."""
    if not array.size or not np.abs(array).max() >= LARGEST_EXACT:  # nan is reported elsewhere
        return
    for place, entry in np.ndenumerate(np.array(values, dtype=object)):
        if isinstance(entry, int) and int(array[place]) != entry:
            raise ProblemError(
                f"{name}{list(place)} is {entry}, which float64 rounds; {KEEPS_EXACT}"
            )


def check_integers(name: str, array: Array) -> None:
    """Raise for integers that float64 rounds.

    Args:
        name: the name of the argument, for errors.
        array: numbers of any type.

    Raises:
        ProblemError: float64 rounds an integer beyond 2^53.
    """
    if not isinstance(array, np.ndarray):
        if not namespace_of(array).isdtype(array.dtype, "integral"):
            return
        array = to_numpy(array)
    host: np.ndarray = array
    if host.dtype.kind not in "iu" or host.dtype.itemsize < 8:
        return
    for place in np.argwhere((host > LARGEST_EXACT) | (host < -LARGEST_EXACT)).tolist():
        entry = int(host[tuple(place)])
        if int(float(entry)) != entry:
            raise ProblemError(f"{name}{place} is {entry}, which float64 rounds; {KEEPS_EXACT}")


def is_sparse(values: object) -> bool:
    """Return whether `values` is a scipy sparse matrix or array, of any format."""
    return hasattr(values, "tocoo")


def _check_order(values: Any, name: str) -> None:
    """Raise for a pandas table whose rows and columns have the same names in different orders."""
    if not hasattr(values, "columns") or not hasattr(values, "index") or callable(values.index):
        return
    rows = list(values.index)
    columns = list(values.columns)
    if rows != columns and len(rows) == len(columns) and set(rows) == set(columns):
        raise ProblemError(
            f"the rows and columns of {name} have the same names in different orders; pass "
            f"{name}.loc[names, names].to_numpy() with one list of names"
        )


def _check_dense(tensor: Array, name: str) -> None:
    """Raise for a torch tensor that lacks a real number for some place."""
    if tensor.is_complex():
        raise ProblemError(f"{name} must contain real numbers; its type is {tensor.dtype}")
    if tensor.is_nested:
        raise ProblemError(
            f"{name} is a nested tensor; pass its parts one by one, or padded to one length"
        )
    if str(tensor.layout) != "torch.strided":
        raise ProblemError(
            f"{name} is a tensor of the layout {tensor.layout}; pass {name}.to_dense(), and pairs "
            "as pairwise [..., e] with edges [e, 2]"
        )
    if tensor.is_meta:
        raise ProblemError(
            f"{name} is on the device meta, which stores no numbers; pass a tensor with data"
        )
    if tensor.is_quantized:
        raise ProblemError(f"{name} is a quantized tensor; pass {name}.dequantize()")


def namespace_of(array: Array) -> Any:
    """Return the array functions for `array`."""
    if isinstance(array, np.ndarray):
        return np
    return array_api_compat.array_namespace(array)


def beside(array: Array, values: np.ndarray) -> Array:
    """Return the numpy array `values` as an array of the kind and on the device of `array`."""
    if isinstance(array, np.ndarray):
        return values
    return namespace_of(array).asarray(values, device=array_api_compat.device(array))


def as_float64(array: Array) -> Array:
    """Return `array` in double precision."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    xp = namespace_of(array)
    return xp.astype(array, xp.float64, copy=False)


def as_number(array: Array) -> Any:
    """Return a float for an array of floats without dimensions; other arrays unchanged.

    Example:
        >>> as_number(np.array(1.5))
        1.5
    """
    if array.shape:
        return array
    return float(array)


def to_numpy(array: Array) -> np.ndarray:
    """Return an array or a number as a numpy array, without a copy if it is on the host.

    Raises:
        ProblemError: it is a tensor whose numbers cannot be read.
    """
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, float | bool):
        return np.asarray(array)
    if array_api_compat.is_torch_array(array):
        host = array.detach().cpu().resolve_neg()
        if host.is_floating_point() and host.element_size() < 4:
            host = host.float()  # numpy has no bfloat16
        try:
            return np.asarray(host)
        except RuntimeError as error:
            raise ProblemError(
                "the numbers of a tensor inside of torch.func (vmap, grad) cannot be read: call "
                "the solver outside of it, or structured_vae.ArgmaxLayer inside"
            ) from error
    return np.from_dlpack(array, device="cpu")
