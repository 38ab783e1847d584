"""Samples that torch draws variable by variable, and their completions."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class DrawnCompletions:
    """Samples and their completions, as the completions of `solvers` have them.

    Attributes:
        samples: `[samples, batch, n]`.
        completed: of bits `[samples, m, batch, n]`, of labels `[samples, m, k - 1, batch, n]`.
        conditionals: `[samples, batch, m]`, of labels `[samples, batch, m, k]`, differentiable.
    """

    samples: torch.Tensor
    completed: torch.Tensor
    conditionals: torch.Tensor


def steps_of(variables: torch.Tensor, n: int, k: int) -> torch.Tensor:
    """Return `[samples, 1 + m (k - 1), batch, n]`: how far each state moves from what is drawn.

    Row 0 is the sample, which moves nowhere. The others move one variable of `variables` by 1 to
    k - 1, modulo k.

    Args:
        variables: `[samples, batch, m]`.
        n: number of variables.
        k: number of values of each.
    """
    chosen = variables.movedim(-1, 1)[:, :, None, :, None]
    moved = chosen == torch.arange(n, device=variables.device)
    steps = torch.arange(1, k, device=variables.device)[:, None, None] * moved
    return torch.nn.functional.pad(steps.flatten(1, 2), (0, 0, 0, 0, 1, 0))
