"""The state of highest score, by operations of torch on the device of the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import torch

from models.potentials import AnyPotentials
from models.states import MOST_BITS
from models.traced import holds

from .sums.forest_sums import forest_argmax, is_summed_along

LARGEST_TABLE: Final = 2**25
"""Most scores in a table of all states of a batch: 256 MiB."""


def device_argmax(
    potentials: AnyPotentials, independent: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor | None:
    """Return the state of highest score `[..., batch, n]`; None where a solver has to find it.

    It serves training steps. They need no certificate, and they must not wait for the device if a
    CUDA graph records them. On the host, solvers are faster.

    Args:
        potentials: unary scores `[..., batch, n]`, without gradient; those of pairs broadcast.
        independent: unary scores -> the state without pairwise scores.
    """
    if potentials.unary.device.type == "cpu":
        return None
    return torch_argmax(potentials, independent)


def torch_argmax(
    potentials: AnyPotentials, independent: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor | None:
    """Return what `device_argmax` returns on a device.

    A solver refuses scores that are not finite. A step that a CUDA graph records cannot look at
    its scores. It sets the states of such scores to NaN. Their costs are then NaN too, and the
    training raises at the end of the epoch.
    """
    h = potentials
    finite = h.unary.isfinite().all(dim=-1, keepdim=True)
    if h.pairwise is not None:
        finite = finite & h.pairwise.isfinite().all(dim=-1, keepdim=True)
    if not holds(finite):
        return None
    if h.pairwise is None:
        z = independent(h.unary)
    elif is_summed_along(h):
        z = forest_argmax(h)
    elif h.state_count <= 2**MOST_BITS and finite.numel() * h.state_count <= LARGEST_TABLE:
        z = table_argmax(h)
    else:
        return None
    return torch.where(finite, z, torch.nan).to(h.unary.dtype)


def table_argmax(potentials: AnyPotentials) -> torch.Tensor:
    """Return the state of highest score `[..., batch, n]` in a table of all states, in float64."""
    h = potentials
    pairwise = h.pairwise
    if pairwise is not None:
        pairwise = pairwise.double()
    wide = replace(h, unary=h.unary.double(), pairwise=pairwise)
    states = wide.states()
    return states[wide.table(states).argmax(dim=-1)]
