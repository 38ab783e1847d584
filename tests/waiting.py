"""Training steps on the device meta, which has shapes but no values: nothing can wait for it.

Reading a value of a tensor on meta raises, as it would make the host wait for a real device. So does
here what torch does on meta, and what would copy between host and device on a real one.
"""

from contextlib import contextmanager

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

INDEXING = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


class WaitsError(AssertionError):
    """An operation would wait for the device, or copy between it and the host."""


class _Copies(TorchDispatchMode):
    """Raise where an operation joins tensors of the host and of the device."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if "index_put" in str(operation) and _has_mask(args[1]) and args[2].ndim:
            raise WaitsError("an assignment of a tensor at a mask counts its entries")
        result = operation(*args, **kwargs)
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if _is_tensor(leaf)]
        devices = {tensor.device.type for tensor in tensors if not _is_number(tensor)}
        copied = "copy" in str(operation) and len({tensor.device for tensor in tensors}) > 1
        if len(devices) > 1 or copied:
            raise WaitsError(f"{operation} of {devices}")
        return result


class _Checks(TorchFunctionMode):
    """Raise where a function of torch reads values, but on meta does not."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.one_hot:
            raise WaitsError("one_hot reads the largest label")
        if function in INDEXING and _is_from_host(args[1]):
            raise WaitsError("an index is copied from the host")
        if function is torch.Tensor.new_tensor:
            raise WaitsError("new_tensor copies from the host")
        if function in (torch.tensor, torch.as_tensor) and (kwargs or {}).get("device") not in (
            None,
            "cpu",
        ):
            raise WaitsError("torch.tensor copies from the host")
        return function(*args, **(kwargs or {}))


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def _is_from_host(index):
    places = index if isinstance(index, tuple) else (index,)
    return any(isinstance(place, list | np.ndarray) for place in places)


def _has_mask(indices):
    return any(index is not None and index.dtype == torch.bool for index in indices)


def _is_number(tensor):
    """A number that Python passes to an operation, which goes with its kernel."""
    return tensor.ndim == 0 and tensor.device.type == "cpu"


@contextmanager
def never_waiting():
    """Raise where an operation on meta would wait for a real device, or copy to or from it."""
    with _Checks(), _Copies():
        yield


def step_of(training, *batch):
    """Compute loss and gradients of a batch on meta, twice: the first step may set things up."""
    training.to("meta")
    training._noise = torch.Generator()
    batch = [tensor.to("meta") for tensor in batch]
    training.loss(*batch).backward()
    with never_waiting():
        training.loss(*batch).backward()
