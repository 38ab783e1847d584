"""Base of modules that compute a second argmax at shifted scores: the layer and the direct loss."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import torch

from models import Potentials
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..autograd.transforms import Dims, leading, refuse_mapped_edges
from ..distributions.argmax_module import ArgmaxModule, Seed, module_of
from ..errors import StalledWarning
from ..estimators import Epsilon, Relative
from ..estimators.argmax.epsilon import as_epsilon
from ..schedules import Schedule
from ..spaces import Structure

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
        seed: the seed of noise during training, as for `ArgmaxModule`.
        constraints: as for every `ArgmaxModule`.

    Raises:
        ConfigError: the seed or a constraint is not valid, or epsilon is not positive and finite.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: the solver needs a package that is not installed.

    Warns:
        StalledWarning: once, when no argmax has changed in 20 steps; and in a call, if the
            structure has a single state, such as `KOfN(k)` for k scores.
    """

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        seed: Seed = None,
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
            the argmax `[..., batch, n]`; and epsilon in float64, a scalar, or `[..., batch, 1]`
            where each instance has its own.

        Raises:
            solvers.SolverError: the solver does not accept the potentials.
        """
        detached = potentials.detach()
        result: tuple[torch.Tensor, torch.Tensor] = _second(
            *detached.scores(), detached.edges, z, slope.detach(), sign, self._number, 0
        )
        return result

    def _step(
        self, potentials: Potentials, z: torch.Tensor, slope: torch.Tensor, sign: int, mapped: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the result of `second`; instances whose slope is not finite keep their argmax.

        `vmap` maps over the first `mapped` dimensions, and each of its calls has its own epsilon.
        """
        wide = potentials.widened()
        finite = slope.isfinite().all(dim=-1, keepdim=True)
        all_finite = bool(finite.all())
        if not all_finite:
            slope = torch.where(finite, slope, 0.0)
        usable = wide.where_allowed(slope.to(wide.unary))
        epsilon = self._size_of_step(usable, wide, z, mapped)
        step = epsilon
        if mapped and not self.epsilon.by_instance:
            step = epsilon.reshape(*epsilon.shape, *[1] * (z.ndim - mapped))
        other = self.maximise(wide.shifted((sign * step * usable).to(usable))).to(z)
        # A step with infinite slopes is skipped by a loss scaler, so it does not count.
        if all_finite and z.numel():
            changed = (other != z).any(dim=-1).float().mean()
            self.epsilon.observe(changed)
            self.count(moved=bool(changed > 0), wanted=bool((usable * (2 * z - 1) > 0).any()))
        else:
            other = torch.where(finite, other, z)
        return other, epsilon

    def _size_of_step(
        self, slope: torch.Tensor, potentials: Potentials, z: torch.Tensor, mapped: int
    ) -> torch.Tensor:
        """Return epsilon in float64: of each of the calls that `vmap` maps over, or of the call."""
        if not mapped or self.epsilon.by_instance:
            epsilon = self.epsilon.at(self.taken, slope, potentials, z)
            return torch.as_tensor(epsilon, dtype=torch.float64, device=z.device).clone()
        calls = z.shape[:mapped]
        sizes = [
            float(self.epsilon.at(self.taken, slope[call], potentials.call_of_vmap(call), z[call]))
            for call in product(*map(range, calls))
        ]
        return torch.tensor(sizes, dtype=torch.float64, device=z.device).reshape(calls)

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
            noise = ", or pass a generator for noise"
            if self.seed is not None:
                noise = ""
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
    mapped: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Call `_step` of the module with this number, in an operator that torch does not compile."""
    potentials = Potentials.of_scores(unary, pairwise, edges)
    stepping: SteppingModule = module_of(module)
    return stepping._step(potentials, z, slope, sign, mapped)


@_second.register_fake
def _(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    slope: torch.Tensor,
    sign: int,
    module: int,
    mapped: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    shape = z.shape[:mapped]
    if module_of(module).epsilon.by_instance:
        shape = torch.Size([*z.shape[:-1], 1])
    return torch.empty_like(z), z.new_empty(shape, dtype=torch.float64)


@_second.register_vmap
def _(info: Any, in_dims: Dims, *args: Any) -> tuple[Any, tuple[int, int]]:
    unary, pairwise, edges, z, slope, sign, module, mapped = args
    refuse_mapped_edges(in_dims[2])
    size = info.batch_size
    rows = [
        leading(value, dim, size)
        for value, dim in zip(
            (unary, pairwise, z, slope), (*in_dims[:2], *in_dims[3:5]), strict=True
        )
    ]
    other = _second(rows[0], rows[1], edges, rows[2], rows[3], sign, module, mapped + 1)
    return other, (0, 0)
