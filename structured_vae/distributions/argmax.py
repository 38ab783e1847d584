"""Sampling by perturbation and argmax, through any solver or space."""

from __future__ import annotations

from typing import TypeAlias

import torch

from models.potentials import AnyPotentials
from solvers import ArgmaxSolver
from solvers.labels import LabelSolver

from ..recording import refuse_recording
from ..spaces import StateSpace, Structure, as_space, is_structure, space_of
from ..spaces.of_potentials import unary_noise

AnySolver: TypeAlias = str | ArgmaxSolver | LabelSolver
"""By name or object: of `solvers`; of pairs of categorical variables of `solvers.labels`, or of `solvers` for their
bits."""


def argmax(
    potentials: AnyPotentials, solver: AnySolver | Structure | StateSpace = "auto"
) -> torch.Tensor:
    """Return the state of highest score `[..., batch, n]` of each image, as floats, without gradient.

    Args:
        potentials: the scores; independent categories and states of a structure need no solver.
        solver: name or object of `solvers`, or of `solvers.labels` for pairs of categorical
            variables; or a space, whose states alone count, for potentials that name none.

    Raises:
        ConfigError: a solver of labels was named for bits.
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: the space takes no pairwise scores, or gave no states of that shape.
    """
    refuse_recording(f"solver '{solver}'" if isinstance(solver, str) else solver)
    free = potentials.detach()
    if is_structure(solver):
        return as_space(solver).maximise(free)
    return space_of(potentials).maximise(free, solver)


def perturb_and_map(
    potentials: AnyPotentials,
    solver: AnySolver | Structure | StateSpace,
    generator: torch.Generator,
    samples: int = 1,
) -> torch.Tensor:
    """Return `[samples, batch, n]`: argmax_z h(z) + gamma(z), with Gumbel noise on every unary score.

    An exact sample of the Gibbs distribution for independent bits and categories; for structured
    potentials a sample of what the literature calls perturb-and-MAP.

    References:
        Papandreou, Yuille (2011), Perturb-and-MAP random fields.
    """
    return argmax(potentials.shifted(unary_noise(potentials, generator, samples)), solver)
