"""Entropies of soft codes, which keep the bits of a quantiser confident and in use."""

from __future__ import annotations

from typing import Final

import torch
from torch.nn.functional import logsigmoid

from ..states import all_states

GROUP: Final = 8
"""The number of bits whose joint states are enumerated for the entropy of a mean."""


def soft_code_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Return E[H(q)] - H(E[q]) in nats per bit, for independent bits with these logits.

    q(z | u) is a product over bits, so H(q) is the sum of the entropies of bits. The mean E[q] over
    rows is no product. Its entropy is that of the joint states of 8 bits at a time, summed over
    these groups, an upper bound on that of all bits.

    Args:
        logits: `[rows, bits]`, of each bit being one.

    Returns:
        a scalar; its minimum, -log 2, means that bits are certain for each row, and that all states
        of a group are equally frequent.
    """
    ones = logsigmoid(logits)
    zeros = logsigmoid(-logits)
    entropy = -(ones.exp() * ones + zeros.exp() * zeros).sum(dim=-1).mean()
    of_mean = logits.new_zeros(())
    groups = zip(torch.split(ones, GROUP, dim=-1), torch.split(zeros, GROUP, dim=-1), strict=True)
    for one, zero in groups:
        states = all_states(one.shape[-1], logits)
        mean = (one @ states.T + zero @ (1 - states).T).exp().mean(dim=0)
        of_mean = of_mean + torch.special.entr(mean).sum()
    return (entropy - of_mean) / logits.shape[-1]
