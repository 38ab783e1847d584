"""Sum over the states of bits whose edges form a forest, by few operations of torch.

All of them run on the device of the scores, and none makes the host wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from torch.nn.functional import softplus

from models.host_edges import HostEdges
from models.potentials import AnyPotentials

from ...noise import random_numbers
from .drawn import DrawnCompletions, steps_of
from .forest_plan import ForestPlan, forest_plan, is_forest

FEWEST: Final = 11
"""Fewest bits for which these sums are cheaper than a table of all states."""

MOST: Final = 1024
"""Most bits: the linear maps of a chain of so many take 90 MB."""

NO_ROUNDING: Final = 40.0
"""Argument from which softplus(x) is x in float64."""


@dataclass(frozen=True, eq=False)
class ForestSums:
    """The sums over all states of bits on a forest: log Z, marginals, samples and completions.

    Probabilities are sums and differences of float64 numbers up to 1, so that their error is
    absolute: about 1e-16.

    Attributes:
        potentials: the scores.
        plan: the order of the elimination.
        fields: for each round `[batch, 4 v]`, the log-odds of its v bits for each value of their
            neighbours, differentiable.
        log_partition: log Z `[batch]`, float64, differentiable.

    References:
        Miller, Reif (1985), Parallel tree contraction and its application.
    """

    potentials: AnyPotentials
    plan: ForestPlan
    fields: list[torch.Tensor]
    log_partition: torch.Tensor

    @classmethod
    def of(cls, potentials: AnyPotentials) -> ForestSums:
        """Return the sums of potentials of bits whose edges form a forest."""
        plan = _plan_of(potentials)
        scores = potentials.unary.double()
        if potentials.pairwise is not None:
            scores = torch.cat([scores, potentials.pairwise.double()], dim=-1)
        fields, log_z = _eliminated(plan, scores, _softplus)
        return cls(potentials, plan, fields, log_z)

    @cached_property
    def marginals(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The probabilities `[batch, n]` of ones, and `[batch, e]` of pairs of ones.

        They are the derivative of log Z, by the chain rule through the rounds backwards.
        """
        derivative = torch.ones_like(self.log_partition)[:, None]
        for step, fields in zip(reversed(self.plan.rounds), reversed(self.fields), strict=True):
            of_fields = (derivative @ step.merge.T) * fields.sigmoid()
            derivative = torch.cat([of_fields, derivative], dim=-1) @ step.split.T
        n = self.potentials.variable_count
        derivative = derivative.clamp(0.0, 1.0)
        return derivative[:, :n], derivative[:, n:]

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int) -> torch.Tensor:
        """Return exact, independent samples `[samples, batch, n]`, float64."""
        unary = self.potentials.unary
        shape = (samples, *unary.shape)
        uniforms = random_numbers(
            torch.rand, shape, generator=generator, device=unary.device, dtype=torch.float64
        )
        states, _ = _drawn(self.plan, self._probabilities(), uniforms[:, None])
        return states[:, 0]

    def completions(self, uniforms: torch.Tensor, variables: torch.Tensor) -> DrawnCompletions:
        """Return samples, each with single bits flipped.

        Bits drawn before the flipped one keep their values, and those after it are drawn again
        with the same uniforms.

        Args:
            uniforms: `[samples, batch, n]`, in [0, 1), float64.
            variables: `[samples, batch, m]`, the bits to flip.
        """
        n = uniforms.shape[-1]
        with torch.no_grad():
            flips = steps_of(variables, n, 2).bool()
            states, corners = _drawn(self.plan, self._probabilities(), uniforms[:, None], flips)
        # A conditional is that of the field at the corner where the sample has the neighbours.
        fields = [_by_corner(of_round) for of_round in reversed(self.fields)]
        of_sample = corners[:, 0, :, None]
        all_fields = torch.cat(fields, dim=-1).expand(len(uniforms), -1, -1, -1)
        drawn = all_fields.gather(2, of_sample)[:, :, 0].sigmoid()
        conditionals = drawn.gather(-1, self.plan.places[variables])
        return DrawnCompletions(states[:, 0], states[:, 1:], conditionals)

    def _probabilities(self) -> list[torch.Tensor]:
        """Return the probabilities of ones for each value of the neighbours, by round."""
        return [fields.sigmoid() for fields in self.fields]


def forest_argmax(potentials: AnyPotentials) -> torch.Tensor:
    """Return the state of highest score `[..., batch, n]` of bits whose edges form a forest.

    It is the best up to the rounding of float64. The softplus of a sum becomes a maximum with 0,
    and a bit is 1 where its field is positive.

    Args:
        potentials: unary scores `[..., batch, n]`; those of pairs broadcast.
    """
    plan = _plan_of(potentials)
    scores = potentials.unary.double()
    leading = scores.shape[:-1]
    if potentials.pairwise is not None:
        pairwise = potentials.pairwise.double()
        scores = torch.cat([scores, pairwise.expand(*leading, -1)], dim=-1)
    fields, _ = _eliminated(plan, scores.reshape(-1, scores.shape[-1]), torch.relu)
    nothing = torch.zeros_like(potentials.unary, dtype=torch.float64)
    states, _ = _drawn(plan, fields, nothing.reshape(1, 1, -1, nothing.shape[-1]))
    return states.reshape(nothing.shape)


def is_summed_along(potentials: AnyPotentials) -> bool:
    """Return whether the host has edges that form a forest, of a size for these sums."""
    n = potentials.variable_count
    edges = potentials.host_edges
    if potentials.categorical or potentials.space is not None or edges is None:
        return False
    return FEWEST <= n <= MOST and edges.recall(is_forest, n)


def _plan_of(potentials: AnyPotentials) -> ForestPlan:
    edges = potentials.edges_on_host() or HostEdges(np.empty((0, 2)))
    return edges.recall(forest_plan, potentials.variable_count, potentials.unary.device)


def _softplus(fields: torch.Tensor) -> torch.Tensor:
    return softplus(fields, threshold=NO_ROUNDING)


def _eliminated(
    plan: ForestPlan, scores: torch.Tensor, of_fields: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return the fields of each round, and what remains when all bits are eliminated, `[batch]`.

    Args:
        plan: the rounds.
        scores: `[batch, n + e]`.
        of_fields: how a bit with these fields adds to the scores that remain.
    """
    fields = []
    for step in plan.rounds:
        corners = 4 * step.size
        split = scores @ step.split
        fields.append(split[:, :corners])
        scores = torch.addmm(split[:, corners:], of_fields(split[:, :corners]), step.merge)
    return fields, scores[:, 0]


def _drawn(
    plan: ForestPlan,
    levels: list[torch.Tensor],
    thresholds: torch.Tensor,
    flips: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return states whose bits are 1 where a level is above a threshold, and their corners.

    The bits of a round are set at once: given the bits before, they are independent.

    Args:
        plan: the rounds, which go backwards here.
        levels: for each round `[batch, 4 v]`, such as probabilities.
        thresholds: `[samples, 1, batch, n]`, such as uniform numbers.
        flips: `[samples, rows, batch, n]`, which bits to flip afterwards; None for none.

    Returns:
        `[samples, rows, batch, n]`, float64; and `[samples, rows, batch, n]`, whole numbers, in the
        order of draws.
    """
    thresholds = thresholds[..., plan.order]
    shape = thresholds.shape
    if flips is not None:
        flips = flips[..., plan.order]
        shape = flips.shape
    states = thresholds.new_empty(shape)
    corners = torch.empty(shape, dtype=torch.long, device=thresholds.device)
    start = 0
    for step, of_round in zip(reversed(plan.rounds), reversed(levels), strict=True):
        end = start + step.size
        now = slice(start, end)
        corners[..., now] = states[..., :start] @ step.parents
        rows = _by_corner(of_round).expand(*shape[:2], -1, -1, -1)
        chosen = rows.gather(3, corners[..., now].unsqueeze(3)).squeeze(3)
        drawn = thresholds[..., now] < chosen
        if flips is not None:
            drawn = drawn ^ flips[..., now]
        states[..., now] = drawn
        start = end
    return states[..., plan.places], corners


def _by_corner(fields: torch.Tensor) -> torch.Tensor:
    """Return the fields `[batch, 4 v]` of a round as `[batch, 4, v]`."""
    return fields.reshape(len(fields), 4, -1)
