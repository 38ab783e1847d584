"""Sampling by perturbation and argmax, through any solver."""

from __future__ import annotations

from typing import TypeAlias

import torch

from models import AnyPotentials, CategoricalPotentials, Potentials, codes_of
from solvers import ArgmaxSolver, Solution, labels, solve
from solvers.labels import LabelSolver

from ..autograd_context import autograd_allowed
from ..errors import ConfigError, StructureError, shortened
from ..noise import unary_noise
from ..recording import refuse_recording
from ..structures import Structure, is_structure, refuse_pairs
from ..structures.batches import refuse_forbidden

AnySolver: TypeAlias = str | ArgmaxSolver | LabelSolver
"""By name or object: of `solvers`; of pairs of categorical variables of `solvers.labels`, or of `solvers` for their
bits."""


def argmax(potentials: AnyPotentials, solver: AnySolver | Structure = "auto") -> torch.Tensor:
    """`[..., batch, n]`: the state of highest score for each image, as floats, without gradient.

    Args:
        potentials: the scores; categories without pairwise scores need no solver.
        solver: name or object of `solvers`, or of `solvers.labels` for pairs of categorical
            variables; or a structure, for potentials without pairwise scores.

    Raises:
        ConfigError: a solver of labels was named for bits.
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: the structure takes no pairwise scores, or gave no states of that shape.
    """
    free = potentials.detach()
    refuse_recording(f"solver '{solver}'" if isinstance(solver, str) else solver)
    if is_structure(solver):
        return _best_of(solver, free)
    if isinstance(free, CategoricalPotentials):
        z = codes_of(_labels(free, solver), free.k)
    elif isinstance(solver, LabelSolver):
        raise ConfigError(f"{solver.name} is a solver of labels, and these potentials are of bits")
    else:
        z = solution_of(free, solver).z
    return z.to(free.unary.dtype)


def solution_of(potentials: Potentials, solver: str | ArgmaxSolver) -> Solution[torch.Tensor]:
    """Return the solution for bits; a forbidden variable is 0 in it, and a forbidden pair is never 1 and 1.

    Raises:
        solvers.SolverError: the solver cannot take these potentials.
    """
    free = _penalised(potentials.detach())
    edges = None if free.edges is None else free.edges.cpu()
    return solve(free.unary, free.pairwise, edges=edges, solver=solver)


def _penalised(potentials: Potentials) -> Potentials:
    """Return potentials whose best states are the best ones of those that nothing forbids.

    Penalties are as small as they may be, so that solvers lose no accuracy to them.
    """
    if potentials.forbidden is None and potentials.forbidden_pairs is None:
        return potentials
    wide = potentials.widened()
    largest = wide.unary.abs().amax(dim=-1, keepdim=True)
    if wide.pairwise is not None and wide.pairwise.shape[-1]:
        largest = torch.maximum(largest, wide.pairwise.abs().amax(dim=-1, keepdim=True))
    return wide.penalised(torch.where(largest > 0, largest, 1.0))


def _labels(potentials: CategoricalPotentials, solver: AnySolver) -> torch.Tensor:
    """`[..., batch, variables]`, whole numbers."""
    unary = potentials.apart(potentials.unary)
    if potentials.pairwise is None or potentials.edges is None:
        return unary.argmax(dim=-1)
    edges = potentials.edges.cpu()
    if potentials.potts:
        return labels.solve(unary, potts=potentials.pairwise, edges=edges, solver=solver).labels
    return labels.solve(unary, potentials.tables(), edges=edges, solver=solver).labels


def _best_of(structure: Structure, potentials: AnyPotentials) -> torch.Tensor:
    refuse_pairs(structure, potentials.pairwise)
    forbidden = potentials.forbidden if isinstance(potentials, Potentials) else None
    scores = potentials.unary
    if forbidden is not None:
        scores = _far_below(scores, forbidden)
    with autograd_allowed():
        z = structure.argmax(scores.clone())
    if not isinstance(z, torch.Tensor) or z.shape != potentials.unary.shape:
        found = list(z.shape) if isinstance(z, torch.Tensor) else shortened(z)
        raise StructureError(
            f"{type(structure).__name__}.argmax must give states {list(potentials.unary.shape)}; it gave {found}"
        )
    z = z.detach().to(potentials.unary)
    if forbidden is not None:
        refuse_forbidden((z > 0.5) & forbidden, type(structure).__name__)
    return z


def _far_below(scores: torch.Tensor, forbidden: torch.Tensor) -> torch.Tensor:
    """Return finite scores `[..., n]` of which a forbidden one costs more than all others can gain."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32)).masked_fill(forbidden, 0.0)
    total = wide.abs().sum(dim=-1, keepdim=True)
    return torch.where(forbidden, -2 * total - 1, wide)


def perturb_and_map(
    potentials: AnyPotentials,
    solver: AnySolver,
    generator: torch.Generator,
    samples: int = 1,
) -> torch.Tensor:
    """`[samples, batch, n]`: argmax_z h(z) + gamma(z), with Gumbel noise on every unary score.

    An exact sample of the Gibbs distribution for independent bits and categories; for structured
    potentials a sample of what the literature calls perturb-and-MAP.

    References:
        Papandreou, Yuille (2011), Perturb-and-MAP random fields.
    """
    return argmax(potentials.shifted(unary_noise(potentials, generator, samples)), solver)
