"""All states of n bits, in one order everywhere, and draws from a table of them."""

from __future__ import annotations

import torch

from .shapes import AllStates

MOST_BITS = 20
"""A table of every state of more bits does not fit a machine beside a batch of images."""


def all_states(n: int, like: torch.Tensor) -> AllStates:
    """`[2^n, n]`: every state of n bits; state s has z_i = bit i of s.

    Args:
        n: bits.
        like: gives type and device.

    Raises:
        ValueError: n is above 20.

    Example:
        >>> all_states(2, torch.zeros(1))
        tensor([[0., 0.],
                [1., 0.],
                [0., 1.],
                [1., 1.]])
    """
    if n > MOST_BITS:
        raise ValueError(f"a table of all 2^{n} states is too large: n can be at most {MOST_BITS}")
    bits = torch.arange(n, device=like.device)
    return (torch.arange(2**n, device=like.device)[:, None] >> bits & 1).to(like.dtype)


def drawn_places(table: torch.Tensor, samples: int, generator: torch.Generator) -> torch.Tensor:
    """`[batch, samples]`: independent draws of softmax(table), by the inverse of the cumulative distribution.

    Args:
        table: `[batch, states]`, scores.
        samples: draws of each row.
        generator: on the table's device.
    """
    cumulative = table.double().softmax(dim=-1).cumsum(dim=-1)
    shape = (len(table), samples)
    uniforms = torch.rand(shape, generator=generator, device=table.device, dtype=torch.float64)
    places = torch.searchsorted(cumulative, uniforms * cumulative[:, -1:], right=True)
    return places.clamp_(max=table.shape[-1] - 1)


def state_index(z: torch.Tensor) -> torch.Tensor:
    """`[...]`: the place in `all_states` of each state of `z [..., n]`."""
    return (z.long() << torch.arange(z.shape[-1], device=z.device)).sum(dim=-1)
