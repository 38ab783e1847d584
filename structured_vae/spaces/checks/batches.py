"""Check scores and bring them to the form that structures compute with: float64 `[batch, n]`."""

from __future__ import annotations

import math
from typing import Final, cast

import numpy as np
import torch

from models import Potentials
from models.arguments import LARGEST_COUNT, whole_number
from models.traced import holds, is_traced, plain

from ...autograd.recording import refuse_recording
from ...errors import StructureError, shortened

UNREACHABLE: Final = -1e200
"""The value used as the logarithm of zero.

Unlike minus infinity, it has finite sums and finite second derivatives.
"""

FORBIDDEN: Final = -1e150
"""The value used as a score of minus infinity.

It is below all sums of scores, and above all sums with `UNREACHABLE`.
"""

LARGEST: Final = 1e50
"""The largest absolute score; larger ones would come near to the value used as minus infinity."""


def checked(scores: torch.Tensor, n: int | None = None) -> torch.Tensor:
    """Return scores `[..., n]` as float64 `[batch, n]`, differentiable but for forbidden scores.

    Args:
        scores: `[..., n]`; minus infinity forbids a variable.
        n: how many variables there must be; None for any number.

    Raises:
        StructureError: the scores are not a floating-point tensor, one of them is nan or plus
            infinity, or there are not n variables.
    """
    refuse_recording("the structure")
    require_scores(scores)
    check_dense(scores, "scores", StructureError)
    if scores.ndim == 0 or (n is not None and scores.shape[-1] != n):
        length = "n"
        if n is not None:
            length = str(n)
        raise StructureError(
            f"scores must have the shape [..., {length}]; got {list(scores.shape)}"
        )
    flat = scores.double().reshape(math.prod(scores.shape[:-1]), scores.shape[-1])
    forbidden = Potentials.forbids(scores.detach()).reshape(flat.shape)
    if is_traced() or bool(forbidden.any()):
        flat = flat.masked_fill(forbidden, FORBIDDEN)
    if not holds((flat.detach().abs() <= LARGEST) | forbidden):  # false for NaN, too
        raise StructureError(
            f"scores must be at most {LARGEST:g} in size, "
            "or minus infinity where a variable must be 0"
        )
    return flat


def require_scores(scores: object, name: str = "scores") -> None:
    """Raise unless these are scores as torch computes with them.

    They may be on the device meta, where training steps are traced without values.

    Args:
        scores: what a caller passed.
        name: name of the argument, for messages.

    Raises:
        StructureError: they are not a dense floating-point tensor of 16 bits or more.
    """
    if isinstance(scores, torch.Tensor):
        is_plain = scores.layout == torch.strided and not (scores.is_nested or scores.is_quantized)
        if is_plain and scores.is_floating_point() and scores.element_size() > 1:
            return
    received = shortened(scores)
    if isinstance(scores, torch.Tensor):
        received = f"{scores.dtype}, {scores.layout}"
        if scores.is_nested:
            received = f"a nested tensor of {scores.dtype}"
    raise StructureError(
        f"{name} must be a dense floating-point tensor [..., n], of 16 bits or more; got {received}"
    )


def shaped(z: torch.Tensor, scores: torch.Tensor, structure: object) -> torch.Tensor:
    """Return states `[batch, n]` of a structure in the shape and type of the scores `[..., n]`.

    Args:
        z: `[batch, n]`.
        scores: `[..., n]`.
        structure: the structure, which a message names.

    Raises:
        StructureError: a state has a variable that its score forbids.
    """
    z = z.to(scores.dtype).reshape(scores.shape)
    refuse_forbidden((z > 0) & Potentials.forbids(scores), type(structure).__name__)
    return z


def refuse_forbidden(taken: torch.Tensor, structure: str) -> None:
    """Raise where the best state of an instance has a variable whose score is minus infinity.

    Args:
        taken: `[..., n]`, true for such variables.
        structure: name of the structure.

    Raises:
        StructureError: such a variable exists.
    """
    if not holds(~taken):
        *place, variable = plain(taken).nonzero()[0].tolist()
        raise StructureError(
            f"instance {place} has no allowed state: every state of {structure} has a variable "
            f"whose score is minus infinity, the best one variable {variable}; allow more variables"
        )


def refuse_impossible(totals: torch.Tensor) -> None:
    """Raise where log Z `[batch]` shows that an instance has no allowed state.

    Raises:
        StructureError: an instance has no allowed state.
    """
    impossible = totals.detach() < FORBIDDEN / 2
    if not holds(~impossible):
        place = plain(impossible).nonzero()[0].tolist()
        raise StructureError(
            f"instance {place} has no allowed state: "
            "every state has a variable whose score is minus infinity"
        )


def log_add(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return log(exp(first) + exp(second)), with a second derivative that is always finite."""
    return torch.logsumexp(torch.stack([first, second]), dim=0)


def positive_integer(value: object, name: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Return the value as an integer of at least `least`.

    Args:
        value: what a caller passed.
        name: name of the argument, for messages.
        least: the smallest integer that is allowed.
        most: the largest.

    Raises:
        StructureError: the value is not such an integer.
    """
    return whole_number(value, name, StructureError, least, most)


def integers(values: object, what: str, may_be_empty: bool = False) -> np.ndarray:
    """Return the values as an array of integers on the host, of any shape.

    Args:
        values: a tensor, an array or lists.
        what: the start of the message, such as "sizes must be [n] integers".
        may_be_empty: whether there may be none, as for a batch without instances.

    Raises:
        StructureError: the values are not integers, or there are none and there must be some.
    """
    if isinstance(values, torch.Tensor) and not is_dense(values):
        raise StructureError(f"{what}, dense; got {values.layout} on {values.device}")
    try:
        if isinstance(values, torch.Tensor):
            array = np.asarray(values.detach().cpu())
        else:
            array = np.asarray(values)
    # Arrays of other packages on a device raise a RuntimeError.
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise StructureError(f"{what}; got {shortened(values)}") from error
    if may_be_empty and not array.size:
        return array.astype(np.int64)
    if not array.size or not np.issubdtype(array.dtype, np.integer):
        raise StructureError(f"{what}; got {shortened(values)}")
    return array


def is_of_floats(value: object) -> bool:
    """Return whether the value is a dense tensor of floats of 16 bits or more."""
    return (
        isinstance(value, torch.Tensor)
        and is_dense(value)
        and value.is_floating_point()
        and value.element_size() > 1
    )


def is_dense(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is strided: not sparse, nested, quantized or on the meta device."""
    return tensor.layout == torch.strided and not (
        tensor.is_nested or tensor.is_meta or tensor.is_quantized
    )


def _kind(tensor: torch.Tensor) -> str:
    if tensor.is_nested:
        return "a nested tensor"
    return f"the layout {tensor.layout}"


def check_states(z: object, n: int | None = None) -> None:
    """Raise unless these are states `[..., n]`.

    Args:
        z: what a caller passed.
        n: entries of a state; None for any number.

    Raises:
        StructureError: they are not a dense tensor, or have another shape.
    """
    check_dense(z, "states", StructureError)
    shape = cast("torch.Tensor", z).shape
    if not shape or n not in (None, shape[-1]):
        raise StructureError(f"states must have the shape [..., {n or 'n'}]; got {list(shape)}")


def check_dense(tensor: object, name: str, error: type[ValueError]) -> None:
    """Raise unless a tensor is dense and has numbers.

    Args:
        tensor: what a caller passed.
        name: name of the argument, for messages.
        error: the class of the error.
    """
    if not isinstance(tensor, torch.Tensor):
        raise error(f"{name} must be a dense tensor; got {shortened(tensor)}")
    if not is_dense(tensor):
        raise error(
            f"{name} must be a dense tensor with numbers; got {_kind(tensor)} on the device "
            f"{tensor.device}"
        )
