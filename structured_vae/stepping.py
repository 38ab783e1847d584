"""Modules that ask for a second argmax, a step away from the first: what the layer and the direct loss share."""

from __future__ import annotations

import warnings
from abc import ABC
from typing import Final

import torch

from models import Potentials
from solvers import ArgmaxSolver

from .distributions.argmax_module import ArgmaxModule, module_of
from .errors import StalledWarning
from .estimators import Epsilon, Relative
from .estimators.epsilon import as_epsilon
from .schedules import Schedule
from .spaces import Structure

PATIENCE: Final = 20
"""Steps in a row without a move after which a module warns."""


class SteppingModule(ArgmaxModule, ABC):
    """Moves unary scores by epsilon times a slope, and asks for the argmax again.

    Args:
        solver: name or object of `solvers`, or a `Structure`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`.
        seed: of noise of its own while it trains; None for none.

    Raises:
        ConfigError: no such seed, or epsilon not positive and finite.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: it needs a package that is not installed.

    Warns:
        StalledWarning: once, when no argmax moved in 20 steps.
    """

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        seed: int | None = None,
    ):
        super().__init__(solver, seed)
        self.epsilon = step_of(epsilon)
        self.taken = 0
        self._still, self._warned = 0, False

    def second(
        self, potentials: Potentials, z: torch.Tensor, slope: torch.Tensor, sign: int = -1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The argmax of the scores with unary + sign epsilon slope, `[..., batch, n]`, and epsilon; without gradient.

        Args:
            potentials: the scores.
            z: `[..., batch, n]`, their argmax.
            slope: `[..., batch, n]`, the changes of the cost.
            sign: -1 towards less of it, 1 towards more.

        Raises:
            solvers.SolverError: the solver cannot take the potentials.
        """
        free = potentials.detach()
        found: tuple[torch.Tensor, torch.Tensor] = _second(
            *free.scores(), free.edges, z, slope.detach(), sign, self._number
        )
        return found

    def _step(
        self, potentials: Potentials, z: torch.Tensor, slope: torch.Tensor, sign: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `second` does; an instance whose slope is not finite stays where it is."""
        wide = potentials.widened()
        finite = slope.isfinite().all(dim=-1, keepdim=True)
        whole = bool(finite.all())
        if not whole:
            slope = torch.where(finite, slope, 0.0)
        usable = wide.where_allowed(slope.to(wide.unary))
        epsilon = self.epsilon.at(self.taken, usable, wide, z)
        other = self.maximise(wide.shifted(sign * epsilon * usable)).to(z)
        if whole:
            changed = (other != z).any(dim=-1).float().mean()
            self.epsilon.observe(changed)
            self.count(moved=bool(changed > 0), wanted=bool((usable * (2 * z - 1) > 0).any()))
        else:
            other = torch.where(finite, other, z)
        return other, torch.as_tensor(epsilon, dtype=torch.float64, device=z.device).clone()

    def count(self, moved: bool, wanted: bool) -> None:
        """Counts a step, and warns once of many in a row that moved nothing.

        Args:
            moved: whether an argmax is another one now.
            wanted: whether the argmax before could have cost less.
        """
        self.taken += 1
        self._still = self._still + 1 if wanted and not moved else 0
        if self._still >= PATIENCE and not self._warned:
            self._warned = True
            noise = ", or pass a generator for noise" if self.seed is None else ""
            warnings.warn(
                f"none of the argmaxes of {PATIENCE} steps in a row moved, so that every gradient was zero: "
                f"the step is too small for these scores in {self!r}. Leave epsilon out or take a larger one{noise}",
                StalledWarning,
                stacklevel=2,
            )


def step_of(epsilon: Schedule | Epsilon | float | None) -> Epsilon:
    """The rule that an argument `epsilon` means; `Relative()` for None.

    Raises:
        ConfigError: it is neither positive and finite nor a schedule or an `Epsilon`.
    """
    return Relative() if epsilon is None else as_epsilon(epsilon)


@torch.library.custom_op("structured_vae::second_argmax", mutates_args=())
def _second(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    slope: torch.Tensor,
    sign: int,
    module: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    found: tuple[torch.Tensor, torch.Tensor] = module_of(module)._step(
        Potentials.of_scores(unary, pairwise, edges), z, slope, sign
    )
    return found


@_second.register_fake
def _(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    slope: torch.Tensor,
    sign: int,
    module: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(z), z.new_empty((), dtype=torch.float64)
