"""Draw samples by perturbation and argmax, through any solver or space."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import torch

from models.arguments import of_kind, whole_number
from models.potentials import AnyPotentials
from models.traced import is_transformed
from solvers import ArgmaxSolver
from solvers.labels import LabelSolver

from ..autograd.recording import refuse_recording
from ..errors import ConfigError, EstimatorError
from ..spaces import StateSpace, Structure, as_space, is_structure, space_of
from ..spaces.checks.solvers import check_solver
from ..spaces.of_potentials import unary_noise

POTENTIALS: Final = "models.Potentials or models.CategoricalPotentials"
"""What distributions are made of, for messages."""

AnySolver: TypeAlias = str | ArgmaxSolver | LabelSolver
"""A solver, by name or object.

It is one of `solvers`; or, for pairs of categorical variables, one of `solvers.labels`.
"""


def argmax(
    potentials: AnyPotentials, solver: AnySolver | Structure | StateSpace = "auto"
) -> torch.Tensor:
    """Return the state of highest score `[..., batch, n]` of each image, without gradient.

    Args:
        potentials: the scores; independent categories and states of a structure need no solver.
        solver: name or object of `solvers`, or of `solvers.labels` for pairs of categorical
            variables; or, for potentials that name no space, the space of the states.

    Raises:
        ConfigError: the solver is for labels, and the potentials are of bits; or an export or a
            trace records the call.
        EstimatorError: the call is inside of `torch.func`.
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: the space takes no pairwise scores, or gave states of another shape.
    """
    named = solver
    if isinstance(solver, str):
        named = f"solver '{solver}'"
    refuse_recording(named)
    if is_transformed():
        raise EstimatorError(
            "an argmax inside torch.func (grad, vmap, jacrev) needs a module around it: call "
            "ArgmaxLayer or a loss there, without a cost"
        )
    free = potentials.detach()
    if is_structure(solver):
        return as_space(solver).maximise(free)
    return space_of(potentials).maximise(free, solver)


def checked_solver(solver: Any) -> Any:
    """Return a solver or a structure unchanged.

    Args:
        solver: "auto", a name or an object of `solvers` or of `solvers.labels`; or a structure.

    Raises:
        solvers.UnknownSolverError: it is none of these.
    """
    if not is_structure(solver):
        check_solver(solver)
    return solver


def perturb_and_map(
    potentials: AnyPotentials,
    solver: AnySolver | Structure | StateSpace,
    generator: torch.Generator,
    samples: int = 1,
) -> torch.Tensor:
    """Return perturb-and-MAP samples `[samples, batch, n]`: argmax_z h(z) + gamma(z).

    Every unary score gets noise. For independent bits and categories they are exact samples of the
    Gibbs distribution; for structured potentials they are perturb-and-MAP samples.

    Args:
        potentials: the scores h.
        solver: see `argmax`.
        generator: a generator on the device of the potentials.
        samples: number of draws per image.

    Raises:
        ConfigError: see `argmax`; or an argument has another type.
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: see `argmax`.

    References:
        Papandreou, Yuille (2011), Perturb-and-MAP random fields.
    """
    of_kind(potentials, "potentials", ConfigError, AnyPotentials, POTENTIALS)
    of_kind(generator, "generator", ConfigError, torch.Generator, "a torch.Generator")
    samples = whole_number(samples, "samples", ConfigError)
    checked_solver(solver)
    return argmax(potentials.shifted(unary_noise(potentials, generator, samples)), solver)
