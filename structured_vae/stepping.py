"""Base of modules that compute a second argmax at shifted scores: the layer and the direct loss."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import torch

from models import Potentials
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from .distributions.argmax_module import ArgmaxModule, module_of
from .errors import StalledWarning
from .estimators import Epsilon, Relative
from .estimators.argmax.epsilon import as_epsilon
from .schedules import Schedule
from .spaces import Structure

PATIENCE: Final = 20
"""Number of consecutive steps without a changed argmax after which a module warns."""


@dataclass
class StepCounts:
    """The steps of a module, and of what `over` makes of it.

    Attributes:
        taken: number of steps.
        without_change: number of last steps in which no argmax changed.
        warned: whether the module has warned of them.
    """

    taken: int = 0
    without_change: int = 0
    warned: bool = False


class SteppingModule(ArgmaxModule, ABC):
    """A module that shifts unary scores by epsilon times a slope and computes the argmax again.

    Args:
        solver: a solver of `solvers` or its name, or a `Structure`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`.
        seed: the seed of noise during training; None for no noise.
        constraints: as for every `ArgmaxModule`.

    Raises:
        ConfigError: the seed or a constraint is not valid, or epsilon is not positive and finite.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: the solver needs a package that is not installed.

    Warns:
        StalledWarning: once, when no argmax has changed in 20 steps.
    """

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        seed: int | None = None,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, seed, constraints)
        self.epsilon = step_of(epsilon)
        self._steps = StepCounts()

    @property
    def taken(self) -> int:
        """The number of steps so far."""
        return self._steps.taken

    def second(
        self, potentials: Potentials, z: torch.Tensor, slope: torch.Tensor, sign: int = -1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the argmax of the scores with `unary + sign * epsilon * slope`, and epsilon.

        Neither has a gradient.

        Args:
            potentials: the scores.
            z: `[..., batch, n]`, their argmax.
            slope: `[..., batch, n]`, the change of the cost when a bit goes from 0 to 1.
            sign: -1 to lower the cost, 1 to raise it.

        Returns:
            the argmax `[..., batch, n]`, and epsilon as a scalar in float64.

        Raises:
            solvers.SolverError: the solver does not accept the potentials.
        """
        detached = potentials.detach()
        result: tuple[torch.Tensor, torch.Tensor] = _second(
            *detached.scores(), detached.edges, z, slope.detach(), sign, self._number
        )
        return result

    def _step(
        self, potentials: Potentials, z: torch.Tensor, slope: torch.Tensor, sign: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the result of `second`; instances whose slope is not finite keep their argmax."""
        wide = potentials.widened()
        finite = slope.isfinite().all(dim=-1, keepdim=True)
        all_finite = bool(finite.all())
        if not all_finite:
            slope = torch.where(finite, slope, 0.0)
        usable = wide.where_allowed(slope.to(wide.unary))
        epsilon = self.epsilon.at(self.taken, usable, wide, z)
        other = self.maximise(wide.shifted(sign * epsilon * usable)).to(z)
        # A step with infinite slopes is skipped by a loss scaler, so it does not count.
        if all_finite:
            changed = (other != z).any(dim=-1).float().mean()
            self.epsilon.observe(changed)
            self.count(moved=bool(changed > 0), wanted=bool((usable * (2 * z - 1) > 0).any()))
        else:
            other = torch.where(finite, other, z)
        return other, torch.as_tensor(epsilon, dtype=torch.float64, device=z.device).clone()

    def count(self, moved: bool, wanted: bool) -> None:
        """Count a step, and warn once if many consecutive steps changed no argmax.

        Args:
            moved: whether an argmax has changed.
            wanted: whether the cost of the previous argmax could be lowered.
        """
        steps = self._steps
        steps.taken += 1
        if wanted and not moved:
            steps.without_change += 1
        else:
            steps.without_change = 0
        if steps.without_change >= PATIENCE and not steps.warned:
            steps.warned = True
            noise = ", or pass a generator for noise" if self.seed is None else ""
            warnings.warn(
                f"no argmax changed in {PATIENCE} consecutive steps, so every gradient was zero: "
                f"the step is too small for these scores in {self!r}. Leave epsilon out or choose "
                f"a larger one{noise}",
                StalledWarning,
                stacklevel=2,
            )


def step_of(epsilon: Schedule | Epsilon | float | None) -> Epsilon:
    """Return the `Epsilon` that the argument of a layer or loss stands for; `Relative()` for None.

    Raises:
        ConfigError: `epsilon` is neither a positive, finite number nor a schedule or an `Epsilon`.
    """
    if epsilon is None:
        return Relative()
    return as_epsilon(epsilon)


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
    """Call `_step` of the module with this number, in an operator that torch does not compile."""
    potentials = Potentials.of_scores(unary, pairwise, edges)
    result: tuple[torch.Tensor, torch.Tensor] = module_of(module)._step(potentials, z, slope, sign)
    return result


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
