"""Draw uniform numbers that avoid each other, by the copula of a Dirichlet distribution."""

from __future__ import annotations

import torch

from ...noise import uniform


def antithetic_uniforms(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return uniform numbers `[samples, ...]`, at most one of which is small.

    They are u_i = (1 - d_i)^(samples - 1), where d is uniform on the simplex, a Dirichlet variable
    with all parameters 1. Each is uniform on (0, 1). Two samples are u and 1 - u.

    Args:
        like: `[samples, ...]`, gives shape, type and device.
        generator: on the same device.

    References:
        Dimitriev, Zhou (2021), ARMS: antithetic-REINFORCE-multi-sample gradient for binary
        variables.
    """
    exponentials = -uniform(like, generator).log()
    shares = exponentials / exponentials.sum(dim=0)
    return (1 - shares) ** (len(like) - 1)


def both_below(first: torch.Tensor, second: torch.Tensor, samples: int) -> torch.Tensor:
    """Return P(u_i < first, u_j < second) of two of the `antithetic_uniforms`."""
    root = 1 / (samples - 1)
    return both_below_of_roots(first**root, second**root, samples)


def both_below_of_roots(first: torch.Tensor, second: torch.Tensor, samples: int) -> torch.Tensor:
    """Return `both_below` of limits whose roots of degree samples - 1 are `first` and `second`."""
    power: torch.Tensor = (first + second - 1).clamp_min(0.0) ** (samples - 1)
    return power
