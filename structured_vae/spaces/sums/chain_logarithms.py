"""Sums of logarithms over the labellings of chains, for scores of any range."""

from __future__ import annotations

from typing import Final

import torch

BELOW: Final = -1e200
"""The value used as minus infinity where logarithms are subtracted."""


def by_logarithms(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Return log Z `[batch]` for scores of any range, from operations that torch differentiates.

    Args:
        emissions: `[length, batch, k]`.
        transitions: `[k, k]`, or `[length - 1, batch, k, k]`.
        start: `[k]`.
        end: `[k]`.
        mask: `[length, batch]`, true up to the end of each chain.
    """
    # Minus infinity would give NaN as its derivative where all ways to a label are forbidden.
    emissions = emissions.clamp_min(BELOW)
    transitions = transitions.clamp_min(BELOW)
    end = end.clamp_min(BELOW)
    total = start.clamp_min(BELOW) + emissions[0]
    if transitions.ndim == 2:
        transitions = transitions.expand(len(emissions) - 1, 1, -1, -1)
    for scores, table, on in zip(emissions[1:], transitions, mask[1:], strict=True):
        further = torch.logsumexp(total[:, :, None] + table, dim=1) + scores
        # Beyond the end of an instance its total stays as it is.
        total = torch.where(on[:, None], further, total)
    return torch.logsumexp(total + end, dim=-1)
