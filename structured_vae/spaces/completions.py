"""Draw samples variable by variable, and complete them with other values of one variable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch

from models.arguments import whole_number

from ..autograd.transforms import writable_zeros
from ..errors import ConfigError
from ..noise import random_numbers
from .structure import StateSums

CostOfStates = Callable[[torch.Tensor], torch.Tensor]
"""States `[..., batch, n]` -> costs `[..., batch]`."""


IMPOSSIBLE: Final = 1e-12
"""Values of a variable that are less probable than this are taken as impossible."""


@dataclass(frozen=True, eq=False)
class Completions(ABC):
    """The samples of a distribution, each with other values of some variables v.

    Variables drawn before v keep their values, and those after it are drawn again with the same
    uniform numbers.

    Attributes:
        z: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, whole numbers.
        completed: states with another value of a variable; the shape depends on the class.
        conditionals: q(z_v | before v), differentiable in the potentials.
    """

    z: torch.Tensor
    variables: torch.Tensor
    completed: torch.Tensor
    conditionals: torch.Tensor

    @abstractmethod
    def expected_changes(self, cost: CostOfStates, at_z: torch.Tensor) -> torch.Tensor:
        """Return `[batch]`, whose gradient estimates that of E[cost] in the potentials.

        It is the sum over variables v of q(z_v | before v) times the cost with that value of v,
        weighted for the variables that were not completed, averaged over the samples.

        Args:
            cost: of states.
            at_z: `[samples, batch]`, the cost at the samples, without gradient.
        """


@dataclass(frozen=True, eq=False)
class BitCompletions(Completions):
    """The completions of bits.

    Attributes:
        z: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, whole numbers.
        completed: `[samples, m, batch, n]`.
        conditionals: `[samples, batch, m]`, q(z_v = 1 | before v).
    """

    def expected_changes(self, cost: CostOfStates, at_z: torch.Tensor) -> torch.Tensor:
        """Return `[batch]`, as specified by `Completions`."""
        with torch.no_grad():
            flipped = cost(self.completed.movedim(1, 0)).movedim(0, -1)
            changes = (flipped - at_z[..., None]) * (1 - 2 * self.z.gather(-1, self.variables))
        samples = self.z.shape[0]
        count = self.variables.shape[-1]
        changes = changes * (self.z.shape[-1] / (max(1, count) * samples))
        return (self.conditionals * changes).sum(dim=(0, 2))


@dataclass(frozen=True, eq=False)
class ValueCompletions(Completions):
    """The completions of variables of k values.

    Attributes:
        z: `[samples, batch, variables k]`, one-hot for each variable.
        variables: `[samples, batch, m]`, whole numbers.
        completed: `[samples, m, k - 1, batch, variables k]`, in the order of `values`.
        conditionals: `[samples, batch, m, k]`, q(x_v = a | before v).
        values: `[samples, batch, m, k - 1]`, the other values of each.
    """

    values: torch.Tensor

    def expected_changes(self, cost: CostOfStates, at_z: torch.Tensor) -> torch.Tensor:
        """Return `[batch]`, as specified by `Completions`."""
        k = self.conditionals.shape[-1]
        with torch.no_grad():
            others = cost(self.completed).movedim(-1, 1)  # [samples, batch, m, k - 1]
            changes = at_z.new_zeros((*self.variables.shape, k))
            changes = changes.scatter(-1, self.values, others - at_z[..., None, None])
        samples = self.z.shape[0]
        count = self.variables.shape[-1]
        variables = self.z.shape[-1] // k
        changes = changes * (variables / (count * samples))
        return (self.conditionals * changes).sum(dim=(0, 2, 3))


def drawn_variables(
    like: torch.Tensor, generator: torch.Generator, count: int | None
) -> torch.Tensor:
    """Return all variables `[..., n]` of states, or `count` different ones of each `[..., count]`.

    Args:
        like: `[samples, batch, n]`, on the device that is meant.
        generator: on that device.
        count: how many variables to draw; None for all.

    Raises:
        ConfigError: `count` is not a whole number from 1 to n.
    """
    n = like.shape[-1]
    if count is None:
        return torch.arange(n, device=like.device).expand(like.shape)
    whole_number(count, "count", ConfigError, min(1, n), n, none="all")
    drawn = random_numbers(torch.rand, like.shape, generator=generator, device=like.device)
    return drawn.argsort(dim=-1)[..., :count]


def completed_in_order(
    gibbs: Callable[[torch.Tensor], StateSums],
    unary: torch.Tensor,
    uniforms: torch.Tensor,
    variables: torch.Tensor,
) -> BitCompletions:
    """Return completions in a space of dependent bits, by n sums over its states.

    Bit v is one where its uniform number is below q(z_v = 1 | before v), which is the marginal of
    v when all bits before it are clamped.

    Args:
        gibbs: the sums of scores `[..., n]`.
        unary: `[batch, n]`, the scores.
        uniforms: `[samples, batch, n]`, in [0, 1), float64.
        variables: `[samples, batch, m]`, which to complete.
    """
    # The states of all completions grow bit by bit, together with those of the samples: bit i of
    # all of them needs one sum, with offsets that clamp the bits before i.
    samples, batch, n = uniforms.shape
    m = variables.shape[-1]
    wide = unary.double()
    clamp = 2 * wide.detach().abs().sum(dim=-1) + 60  # [batch]: leaves others less than exp(-60)
    # Row 0 is the sample itself; row 1 + j is it with variable j of `variables` flipped.
    states = writable_zeros(wide.new_empty((samples, 1 + m, batch, n)), uniforms, variables)
    offsets = torch.zeros_like(states)
    flipped = torch.nn.functional.pad(variables.movedim(-1, 1), (0, 0, 1, 0), value=-1)
    probabilities = []
    for i in range(n):
        fixed = wide.detach() + offsets
        with torch.no_grad():
            ones = gibbs(fixed).marginals[..., i]
        # The conditional of the sample is differentiable in the scores.
        tracked = gibbs(wide + offsets[:, 0]).marginals[..., i]
        probabilities.append(tracked)
        drawn = (uniforms[:, None, :, i] < ones).double()
        drawn = torch.where(flipped == i, 1 - drawn, drawn)
        states[..., i] = drawn
        offsets[..., i] = (2 * drawn - 1) * clamp
    conditionals = torch.stack(probabilities, dim=-1).gather(-1, variables)
    states = states.to(unary.dtype)
    z = states[:, 0]
    # A bit that its predecessors force has no other value: its completion is the sample.
    fixed = conditionals.detach()
    forced = torch.where(z.gather(-1, variables) > 0.5, 1 - fixed, fixed) < IMPOSSIBLE
    completed = torch.where(forced.movedim(-1, 1)[..., None], z[:, None], states[:, 1:])
    return BitCompletions(z, variables, completed, conditionals.to(unary.dtype))
