"""Notice networks that do not learn: frozen ones, and those whose output passes no gradient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch
from torch import nn

from models.errors import NetworkError

from ..errors import FrozenWarning

Networks = Mapping[str, nn.Module]
"""The networks of a training by their role, "encoder" or "decoder"."""


def warn_of_frozen(networks: Networks) -> None:
    """Warn of each network that has no parameter to learn.

    A caller may freeze a network on purpose, so this is no error.
    """
    for role, network in networks.items():
        if _learns(network):
            continue
        named = f"the {role} ({type(network).__name__})"
        message = (
            f"all parameters of {named} have requires_grad=False, so it stays as it is. To train "
            f"it, call model.{role}.requires_grad_(True)"
        )
        if not any(True for _ in network.parameters()):
            message = (
                f"{named} has no parameters, so it stays as it is. If its layers are in a list, "
                "use torch.nn.ModuleList"
            )
        warnings.warn(message, FrozenWarning, stacklevel=2)


def check_reached(loss: torch.Tensor) -> None:
    """Raise if a loss has no gradient at all.

    Raises:
        NetworkError: no parameter can change the loss.
    """
    if torch.is_grad_enabled() and not loss.requires_grad:
        raise NetworkError(
            "the loss depends on no parameter of the networks, so nothing would be learnt. Look "
            "for detach() and torch.no_grad() in their forward methods, and for requires_grad=False"
        )


def check_gradients(networks: Networks) -> None:
    """Raise if a network that should learn got no gradient in a backward pass.

    Raises:
        NetworkError: no parameter of the network has a gradient.
    """
    for role, network in networks.items():
        if not _learns(network):
            continue
        if any(parameter.grad is not None for parameter in network.parameters()):
            continue
        raise NetworkError(
            f"no parameter of the {role} ({type(network).__name__}) got a gradient in the first "
            "step, so it would not learn. Look for detach(), torch.no_grad(), .data and numpy in "
            "its forward method. To leave it as it is on purpose, call "
            f"model.{role}.requires_grad_(False)"
        )


def _learns(network: nn.Module) -> bool:
    """Return whether any parameter of a network requires a gradient."""
    return any(parameter.requires_grad for parameter in network.parameters())
