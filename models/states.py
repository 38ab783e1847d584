"""List all states of bits or of variables of k values in one order, and sample from tables."""

from __future__ import annotations

import torch

from .errors import SettingError
from .shapes import AllStates, Binary, OneHot

MOST_BITS = 20
"""Most bits of a table of all states, which has to fit into memory beside a batch of images."""


def all_states(n: int, like: torch.Tensor) -> AllStates:
    """Return every state of n bits `[2^n, n]`; state s has z_i = bit i of s.

    Args:
        n: number of bits.
        like: a tensor of the type and device that the states get.

    Raises:
        SettingError: n is above 20.

    Example:
        >>> all_states(2, torch.zeros(1))
        tensor([[0., 0.],
                [1., 0.],
                [0., 1.],
                [1., 1.]])
    """
    if n > MOST_BITS:
        raise SettingError(
            f"a table of all 2^{n} states is too large: n can be at most {MOST_BITS}"
        )
    bits = torch.arange(n, device=like.device)
    return (torch.arange(2**n, device=like.device)[:, None] >> bits & 1).to(like.dtype)


def all_labels(variables: int, k: int, like: torch.Tensor) -> AllStates:
    """Return every assignment of k values, one-hot, `[k^variables, variables k]`.

    State s gives variable i the digit i of s to the base k.

    Args:
        variables: number of variables.
        k: number of values of each variable.
        like: a tensor of the type and device that the states get.

    Raises:
        SettingError: there are more than 2^20 states.

    Example:
        >>> all_labels(2, 2, torch.zeros(1)).long().tolist()
        [[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
    """
    if k**variables > 2**MOST_BITS:
        raise SettingError(
            f"a table of all {k}^{variables} states is too large: "
            f"there can be at most 2^{MOST_BITS}"
        )
    places = k ** torch.arange(variables, device=like.device)
    labels = torch.arange(k**variables, device=like.device)[:, None] // places % k
    return codes_of(labels, k).to(like.dtype)


def of_variables(values: torch.Tensor, variables: int) -> torch.Tensor:
    """Return `values [..., variables k]` with one row per variable, `[..., variables, k]`."""
    return values.reshape(*values.shape[:-1], variables, values.shape[-1] // variables)


def codes_of(labels: torch.Tensor, k: int) -> OneHot:
    """Return labels `[..., variables]` from 0 to k - 1 as one-hot vectors `[..., variables k]`."""
    # torch's `one_hot` checks the labels: it would wait for the device, and fails under `vmap`.
    return (labels[..., None] == torch.arange(k, device=labels.device)).long().flatten(-2)


def label_index(labels: torch.Tensor, k: int) -> torch.Tensor:
    """Return the places `[...]` in `all_labels` of labels `[..., variables]`."""
    return (labels * k ** torch.arange(labels.shape[-1], device=labels.device)).sum(dim=-1)


def single_changes(z: OneHot, variables: int) -> OneHot:
    """Return z with one variable changed, `[..., variables k, variables k]`.

    At place i k + a variable i has the value a.
    """
    current = of_variables(z, variables)
    moved = torch.eye(variables, dtype=z.dtype, device=z.device)[:, None, :, None]
    values = torch.eye(current.shape[-1], dtype=z.dtype, device=z.device)[None, :, None, :]
    changed: torch.Tensor = moved * values + (1 - moved) * current[..., None, None, :, :]
    return changed.flatten(-2).flatten(-3, -2)


def single_flips(z: Binary, variables: torch.Tensor) -> Binary:
    """Return states z `[..., n]` with one of their `variables [..., m]` flipped, `[m, ..., n]`."""
    flips = torch.zeros((*variables.shape, z.shape[-1]), dtype=z.dtype, device=z.device)
    moved: torch.Tensor = (z - flips.scatter_(-1, variables[..., None], 1).movedim(-2, 0)).abs()
    return moved


def drawn_places(table: torch.Tensor, samples: int, generator: torch.Generator) -> torch.Tensor:
    """Return independent draws `[batch, samples]` of softmax(table), as places in it.

    They come from the inverse of the cumulative distribution.

    Args:
        table: `[batch, states]`, scores.
        samples: number of draws of each row.
        generator: a generator on the device of the table.
    """
    cumulative = table.double().softmax(dim=-1).cumsum(dim=-1)
    shape = (len(table), samples)
    uniforms = torch.rand(shape, generator=generator, device=table.device, dtype=torch.float64)
    places = torch.searchsorted(cumulative, uniforms * cumulative[:, -1:], right=True)
    return places.clamp(max=table.shape[-1] - 1)


def state_index(z: torch.Tensor) -> torch.Tensor:
    """Return the place `[...]` in `all_states` of each state of `z [..., n]`."""
    return (z.long() << torch.arange(z.shape[-1], device=z.device)).sum(dim=-1)
