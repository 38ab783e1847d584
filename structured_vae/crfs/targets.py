"""Targets of a likelihood: labels, sets of possible labels, or probabilities of labels."""

from __future__ import annotations

import torch
from typing_extensions import TypeIs

from models.states import codes_of
from models.traced import holds

from ..errors import ConfigError, StructureError, shortened
from ..spaces.checks.batches import is_dense
from ..spaces.checks.weights import checked_weights


def is_tensor(value: object) -> TypeIs[torch.Tensor]:
    """Return whether the value is a dense tensor."""
    return isinstance(value, torch.Tensor) and is_dense(value)


def are_labels(target: torch.Tensor) -> bool:
    """Return whether the target has one label for each variable."""
    return not (target.dtype == torch.bool or target.is_floating_point() or target.is_complex())


def check_target(target: object, shape: tuple[int, ...], k: int, name: str) -> None:
    """Raise unless the target is labels, or sets or probabilities of labels, of that shape.

    Args:
        target: what a caller passed.
        shape: the shape of labels.
        k: the number of labels.
        name: name of the argument, for messages.

    Raises:
        StructureError: the target has another type or shape.
    """
    if is_tensor(target):
        wanted = tuple(shape)
        if not are_labels(target):
            wanted = (*shape, k)
        if tuple(target.shape) == wanted and not target.is_complex():
            return
    received = shortened(target)
    if is_tensor(target):
        received = f"{target.dtype} {list(target.shape)}"
    raise StructureError(
        f"{name} must be integers {list(shape)}, or booleans or probabilities "
        f"{[*shape, k]}; got {received}"
    )


def check_values(target: torch.Tensor, k: int, name: str) -> None:
    """Raise unless all values of a target without padding are possible.

    Args:
        target: `[...]` labels, or `[..., k]` sets or probabilities.
        k: the number of labels.
        name: name of the argument, for messages.

    Raises:
        StructureError: a label is out of range, a set is empty, or probabilities do not add up to
            one.
    """
    if are_labels(target):
        allowed = (target >= 0) & (target < k)
        if not holds(allowed):
            value = target[~allowed][0].item()
            raise StructureError(f"{name} must be from 0 to {k - 1}; got {value}")
    elif target.dtype == torch.bool:
        if not holds(target.any(dim=-1)):
            raise StructureError(f"{name} must allow at least one label of each variable")
    else:
        sums = target.double().sum(dim=-1)
        # Probabilities of a 16-bit softmax add up to 1 within the rounding of their type.
        slack = max(1e-3, 2 * torch.finfo(target.dtype).eps)
        if not holds((target >= 0).all(dim=-1) & ((sums - 1).abs() < slack)):
            raise StructureError(
                f"{name} must be probabilities that add up to 1 at each variable, or booleans"
            )


def frequencies(target: torch.Tensor, k: int) -> torch.Tensor:
    """Return the share of each label of a target, `[..., k]`, float64; sets share evenly.

    Shares add up to 1, also those of probabilities that rounding has moved away from it.
    """
    if are_labels(target):
        return codes_of(target[..., None].long(), k).double()
    shares = target.double()
    return shares / shares.sum(dim=-1, keepdim=True)


def smoothing_of(value: object) -> float:
    """Return the share of the uniform distribution in a smoothed target.

    Raises:
        ConfigError: the value is not a number from 0 to less than 1.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < 1:  # type: ignore[operator]  # a number
        raise ConfigError(
            f"label_smoothing must be a number from 0 to less than 1; got {shortened(value)}"
        )
    return float(value)  # type: ignore[arg-type]  # a number


def instance_weights(
    target: torch.Tensor,
    k: int,
    on: torch.Tensor,
    sample_weight: torch.Tensor | None,
    class_weight: torch.Tensor | None,
) -> torch.Tensor | None:
    """Return the weight of each instance `[batch]`; None where all weigh the same.

    The weight is that of the sample, times the mean weight of the classes of its labels.

    Args:
        target: `[variables, batch]` labels, or `[variables, batch, k]` sets or probabilities.
        k: the number of labels.
        on: `[variables, batch]`, False at padding.
        sample_weight: `[batch]`; None for ones.
        class_weight: `[k]`; None for ones.

    Raises:
        ConfigError: weights have another shape, or one is out of range.
    """
    weights = None
    if sample_weight is not None:
        checked = checked_weights(sample_weight, (target.shape[1],), "sample_weight")
        weights = checked.to(target.device, torch.float64)
    if class_weight is not None:
        checked = checked_weights(class_weight, (k,), "class_weight")
        of_classes = checked.to(target.device, torch.float64)
        of_labels = (frequencies(target, k) @ of_classes).masked_fill(~on, 0.0)
        means = of_labels.sum(dim=0) / on.sum(dim=0)
        if weights is None:
            weights = means
        else:
            weights = weights * means
    return weights
