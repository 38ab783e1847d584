"""Sampling by perturbation and argmax, through any solver."""

from __future__ import annotations

import torch

from models import Potentials
from solvers import ArgmaxSolver, solve

from .noise import gumbel_differences


def argmax(potentials: Potentials, solver: str | ArgmaxSolver) -> torch.Tensor:
    """`[batch, n]`: the state of highest score for each image, as floats, without gradient."""
    free = potentials.detach()
    edges = None if free.edges is None else free.edges.cpu()
    z: torch.Tensor = solve(free.unary, free.pairwise, edges=edges, solver=solver).z
    return z.to(free.unary.dtype)


def perturb_and_map(
    potentials: Potentials, solver: str | ArgmaxSolver, generator: torch.Generator
) -> torch.Tensor:
    """`[batch, n]`: argmax_z h(z) + gamma(z), with Gumbel noise on every unary score.

    An exact sample of the Gibbs distribution for independent potentials; for others a sample of what
    the literature calls perturb-and-MAP.

    References:
        Papandreou, Yuille (2011), Perturb-and-MAP random fields.
    """
    return argmax(potentials.shifted(gumbel_differences(potentials.unary, generator)), solver)
