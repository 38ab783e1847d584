"""Samples of a Gibbs posterior, drawn variable by variable, and what they would be with another value of one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from models import CategoricalPotentials, Potentials, codes_of, single_flips

from .gibbs import tracked_completions, uniforms


@dataclass(frozen=True, eq=False)
class Completions:
    """Samples, and for some variables v of each the state with the other value of z_v.

    Those drawn before v are the sample's, and those after it drawn again with the same uniforms.

    Attributes:
        z: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, whole numbers.
        completed: `[samples, m, batch, n]`.
        conditionals: `[samples, batch, m]`, q(z_v = 1 | before v), differentiable in the
            potentials.
    """

    z: torch.Tensor
    variables: torch.Tensor
    completed: torch.Tensor
    conditionals: torch.Tensor

    @property
    def n(self) -> int:
        """Variables of a state."""
        return self.z.shape[-1]

    @property
    def count(self) -> int:
        """How many of them are completed, m."""
        return self.variables.shape[-1]


@dataclass(frozen=True, eq=False)
class ValueCompletions:
    """Samples of variables of k values, and for some variables v of each the states with the other values of v.

    Attributes:
        z: `[samples, batch, n]`, one-hot for each variable.
        variables: `[samples, batch, m]`, whole numbers.
        values: `[samples, batch, m, k - 1]`, the other values of each.
        completed: `[samples, m, k - 1, batch, n]`, in the order of `values`.
        conditionals: `[samples, batch, m, k]`, q(x_v = a | before v), differentiable in the
            potentials.
    """

    z: torch.Tensor
    variables: torch.Tensor
    values: torch.Tensor
    completed: torch.Tensor
    conditionals: torch.Tensor


def completed_values(
    potentials: CategoricalPotentials,
    generator: torch.Generator,
    samples: int = 1,
    count: int | None = None,
) -> ValueCompletions:
    """Samples of the Gibbs posterior of categories, and completions of all variables, or of `count` drawn for each.

    Args:
        potentials: h.
        generator: on their device.
        samples: draws an image.
        count: at most as many as there are variables; None for all.

    Raises:
        solvers.UnsupportedProblemError: too large a treewidth.
    """
    h, k = potentials, potentials.k
    shape = (samples, len(h.unary), h.variables)
    drawn = uniforms(h, shape, generator)
    variables = drawn_variables(drawn, generator, count)
    if h.pairwise is None:
        cumulative = h.apart(h.unary.detach().double()).softmax(dim=-1).cumsum(dim=-1)
        labels = (drawn[..., None] * cumulative[..., -1:] >= cumulative[..., :-1]).sum(dim=-1)
        values = _other_values(labels, variables, k)
        moved = labels[:, :, None, None].repeat(1, 1, *values.shape[-2:], 1)
        moved.scatter_(-1, variables[..., None].expand(values.shape)[..., None], values[..., None])
        moved = moved.movedim(1, 3)
        probabilities = h.apart(h.unary).softmax(dim=-1).expand(samples, -1, -1, -1)
        conditionals = probabilities.gather(2, variables[..., None].expand(*variables.shape, k))
    else:
        found, conditionals = tracked_completions(h, drawn, variables)
        labels, moved = found.samples, found.completed
        values = _other_values(labels, variables, k)
    z, completed = (codes_of(part, k).to(h.unary.dtype) for part in (labels, moved))
    return ValueCompletions(z, variables, values, completed, conditionals)


def _other_values(labels: torch.Tensor, variables: torch.Tensor, k: int) -> torch.Tensor:
    """`[samples, batch, m, k - 1]`: of some variables, from the next value on, modulo k."""
    steps = torch.arange(1, k, device=labels.device)
    return (labels.gather(-1, variables)[..., None] + steps) % k


def completed(
    potentials: Potentials, generator: torch.Generator, samples: int = 1, count: int | None = None
) -> Completions:
    """Samples of the Gibbs posterior, and completions of all variables, or of `count` drawn at random for each.

    With pairwise scores on the host, whatever the device.

    Args:
        potentials: h.
        generator: on their device.
        samples: draws an image.
        count: at most n; None for all.

    Raises:
        solvers.UnsupportedProblemError: too many states, and too large a treewidth.
    """
    shape = (samples, *potentials.unary.shape)
    drawn = uniforms(potentials, shape, generator)
    variables = drawn_variables(drawn, generator, count)
    if potentials.pairwise is None:
        return _of_independent(potentials, drawn, variables)
    return _of_coupled(potentials, drawn, variables)


def drawn_variables(
    like: torch.Tensor, generator: torch.Generator, count: int | None
) -> torch.Tensor:
    """`[samples, batch, m]`: all variables of states `[samples, batch, n]`, or `count` of each, none twice."""
    n = like.shape[-1]
    if count is None:
        return torch.arange(n, device=like.device).expand(like.shape)
    order = torch.rand(like.shape, generator=generator, device=like.device).argsort(dim=-1)
    return order[..., :count]


def _of_independent(h: Potentials, drawn: torch.Tensor, variables: torch.Tensor) -> Completions:
    """Of bits that are drawn by themselves: their flips."""
    z = (drawn < h.unary.detach().double().sigmoid()).to(h.unary.dtype)
    conditionals = h.unary.sigmoid().expand_as(z).gather(-1, variables)
    return Completions(z, variables, single_flips(z, variables).movedim(0, 1), conditionals)


def _of_coupled(h: Potentials, drawn: torch.Tensor, variables: torch.Tensor) -> Completions:
    found, conditionals = tracked_completions(h, drawn, variables)
    z, completed = (part.to(h.unary.dtype) for part in (found.samples, found.completed))
    return Completions(z, variables, completed, conditionals)
