"""Scores as the structures compute with them: checked, one row an instance, float64."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

from models import Potentials

from ..errors import StructureError, shortened
from ..recording import refuse_recording

UNREACHABLE: Final = -1e200
"""What stands for the logarithm of zero: unlike minus infinity, it has sums and second derivatives that are numbers."""

FORBIDDEN: Final = -1e150
"""What stands for a score of minus infinity: below all sums of scores, and above all sums with `UNREACHABLE`."""

LARGEST: Final = 1e50
"""Scores beyond it would come near to what stands for minus infinity."""


def checked(scores: torch.Tensor, n: int | None = None) -> torch.Tensor:
    """Return scores `[..., n]` as float64 `[instances, n]`, differentiable; a forbidden one has no gradient.

    Raises:
        StructureError: they are no floating-point tensor, nan or plus infinity, or of another
            number of variables.
    """
    refuse_recording("the structure")
    if not is_of_floats(scores):
        found = (
            f"{scores.dtype}, {scores.layout}"
            if isinstance(scores, torch.Tensor)
            else shortened(scores)
        )
        raise StructureError(
            f"scores must be a dense floating-point tensor [..., n], of 16 bits or more; got {found}"
        )
    if scores.ndim == 0 or (n is not None and scores.shape[-1] != n):
        wanted = "n" if n is None else n
        raise StructureError(
            f"scores must have the shape [..., {wanted}]; got {list(scores.shape)}"
        )
    flat = scores.double().reshape(-1, scores.shape[-1])
    forbidden = Potentials.forbids(scores.detach()).reshape(flat.shape)
    if bool(forbidden.any()):
        flat = flat.masked_fill(forbidden, FORBIDDEN)
    if not bool(((flat.detach().abs() <= LARGEST) | forbidden).all()):  # false for NaN, too
        raise StructureError(
            f"scores must be at most {LARGEST:g} in size, or minus infinity where a variable must be 0"
        )
    return flat


def shaped(z: torch.Tensor, scores: torch.Tensor, structure: object) -> torch.Tensor:
    """Return states `[instances, n]` of a structure in the shape and type of the scores `[..., n]`.

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
        structure: its name.

    Raises:
        StructureError: there is one.
    """
    if bool(taken.any()):
        *place, variable = taken.nonzero()[0].tolist()
        raise StructureError(
            f"instance {place} has no allowed state: every state of {structure} has a variable whose score is minus "
            f"infinity, the best one variable {variable}; allow more variables"
        )


def refuse_impossible(totals: torch.Tensor) -> None:
    """Raise where log Z `[batch]` says that an instance has no allowed state.

    Raises:
        StructureError: it does.
    """
    impossible = totals.detach() < FORBIDDEN / 2
    if bool(impossible.any()):
        place = impossible.nonzero()[0].tolist()
        raise StructureError(
            f"instance {place} has no allowed state: every state has a variable whose score is minus infinity"
        )


def log_add(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """log(exp(first) + exp(second)), whose second derivative is finite however far apart they are."""
    return torch.logsumexp(torch.stack([first, second]), dim=0)


def positive_integer(value: object, name: str, least: int = 1) -> int:
    """The value as an integer of at least `least`.

    Raises:
        StructureError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StructureError(
            f"{name} must be an integer of at least {least}; got {shortened(value)}"
        )
    return int(value)


def integers(values: object, what: str) -> np.ndarray:
    """What a caller lists, as an array of integers on the host, of any shape with something in it.

    Args:
        values: a tensor, an array or lists.
        what: how messages call it.

    Raises:
        StructureError: it is none.
    """
    if isinstance(values, torch.Tensor) and not is_dense(values):
        raise StructureError(f"{what}, dense; got {values.layout} on {values.device}")
    try:
        found = np.asarray(values.detach().cpu() if isinstance(values, torch.Tensor) else values)
    # the last of arrays on devices
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise StructureError(f"{what}; got {shortened(values)}") from error
    if not found.size or not np.issubdtype(found.dtype, np.integer):
        raise StructureError(f"{what}; got {shortened(values)}")
    return found


def is_of_floats(given: object) -> bool:
    """Whether it is a dense tensor of floats with which torch computes: of 16 bits or more."""
    return (
        isinstance(given, torch.Tensor)
        and is_dense(given)
        and given.is_floating_point()
        and given.element_size() > 1
    )


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether it has its numbers at hand: not sparse, nested, quantized, or of no device at all."""
    return tensor.layout == torch.strided and not (
        tensor.is_nested or tensor.is_meta or tensor.is_quantized
    )
