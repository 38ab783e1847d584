"""Sampling by perturbation and argmax, through any solver."""

from __future__ import annotations

import torch
from torch.nn.functional import one_hot

from models import AnyPotentials, CategoricalPotentials
from solvers import ArgmaxSolver, solve

from ..errors import StructureError, shortened
from ..noise import unary_noise
from ..structures import Structure, is_structure, refuse_pairs


def argmax(potentials: AnyPotentials, solver: str | ArgmaxSolver | Structure = "auto") -> torch.Tensor:
    """`[..., batch, n]`: the state of highest score for each image, as floats, without gradient.

    Args:
        potentials: the scores; those of categories need no solver.
        solver: name or object of `solvers`; or a structure, for potentials without pairwise scores.

    Raises:
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: the structure takes no pairwise scores, or gave no states of that shape.
    """
    free = potentials.detach()
    if is_structure(solver):
        return _best_of(solver, free)
    if isinstance(free, CategoricalPotentials):
        z = one_hot(free.unary.argmax(dim=-1), free.unary.shape[-1])
    else:
        edges = None if free.edges is None else free.edges.cpu()
        z = solve(free.unary, free.pairwise, edges=edges, solver=solver).z
    return z.to(free.unary.dtype)


def _best_of(structure: Structure, potentials: AnyPotentials) -> torch.Tensor:
    refuse_pairs(structure, potentials.pairwise)
    z = structure.argmax(potentials.unary)
    if not isinstance(z, torch.Tensor) or z.shape != potentials.unary.shape:
        found = list(z.shape) if isinstance(z, torch.Tensor) else shortened(z)
        raise StructureError(
            f"{type(structure).__name__}.argmax must give states {list(potentials.unary.shape)}; it gave {found}"
        )
    return z.detach().to(potentials.unary)


def perturb_and_map(
    potentials: AnyPotentials,
    solver: str | ArgmaxSolver,
    generator: torch.Generator,
    samples: int = 1,
) -> torch.Tensor:
    """`[samples, batch, n]`: argmax_z h(z) + gamma(z), with Gumbel noise on every unary score.

    An exact sample of the Gibbs distribution for independent bits and for categories; for structured
    potentials a sample of what the literature calls perturb-and-MAP.

    References:
        Papandreou, Yuille (2011), Perturb-and-MAP random fields.
    """
    return argmax(potentials.shifted(unary_noise(potentials, generator, samples)), solver)
