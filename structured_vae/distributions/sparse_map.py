"""The sparse distribution over a few states whose mean is closest to the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import torch

from models.potentials import AnyPotentials

from ..spaces import StateSpace, Structure
from .argmax import AnySolver, argmax

STEPS: Final = 100
"""Most argmaxes for one distribution."""

TOLERANCE: Final = 1e-9
"""Largest gap of an optimum, relative to the largest score of a state."""

RIDGE: Final = 1e-10
"""Added to the products of states with themselves, since states may depend on each other."""


@dataclass(frozen=True, eq=False)
class SparseStates:
    """A distribution over a few states of each image.

    Attributes:
        states: `[count, batch, n]`, the states of each image, in which some images have fewer.
        probabilities: `[count, batch]`, differentiable in the scores; zero for the places that an
            image does not use.
    """

    states: torch.Tensor
    probabilities: torch.Tensor

    @property
    def mean(self) -> torch.Tensor:
        """The mean state `[batch, n]`, differentiable."""
        return (self.probabilities[..., None] * self.states).sum(dim=0)


def sparse_map(
    potentials: AnyPotentials,
    solver: AnySolver | Structure | StateSpace = "auto",
    temperature: float = 1.0,
    steps: int = STEPS,
) -> SparseStates:
    """Return the distribution p over states that maximises `E_p[h(z)] - t / 2 |E_p[z]|^2`.

    Here t is the temperature.

    For scores of variables alone its mean is the point of the convex hull of all states that is
    closest to h / temperature. An active set of states grows by the argmax of h - temperature
    E_p[z] . z, until that state brings no gain. At most n + 1 states have a probability, where
    pairs have no scores.

    Args:
        potentials: the scores h.
        solver: see `argmax`. With a solver that is not exact the distribution may stop early.
        temperature: weight of the squared norm of the mean, positive.
        steps: most argmaxes. After fewer than it takes, p is the best one over the states so far.

    Raises:
        solvers.SolverError: the solver cannot take these potentials.
        StructureError: the space takes no pairwise scores, or gave states of another shape.

    References:
        Niculae, Martins, Blondel, Cardie (2018), SparseMAP: differentiable sparse structured
        inference. Nocedal, Wright (2006), Numerical optimization, algorithm 16.3: the active set.
    """
    states, active = _support(_wide(potentials.detach()), solver, temperature, steps)
    system = _optimality(states, active, temperature)
    scores = _wide(potentials).score(states)
    probabilities = _solved(system, scores, active).to(potentials.unary.dtype)
    return SparseStates(states.to(potentials.unary.dtype), probabilities)


def _wide(potentials: AnyPotentials) -> AnyPotentials:
    """Return the same scores in float64."""
    pairwise = potentials.pairwise
    if pairwise is not None:
        pairwise = pairwise.double()
    return replace(potentials, unary=potentials.unary.double(), pairwise=pairwise)


@torch.no_grad()
def _support(
    potentials: AnyPotentials,
    solver: AnySolver | Structure | StateSpace,
    temperature: float,
    steps: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states `[count, batch, n]` of the distribution, and where they are in use."""
    states = argmax(potentials, solver)[None]
    scores = potentials.score(states)
    active = torch.ones_like(scores, dtype=torch.bool)
    probabilities = torch.ones_like(scores)
    for _ in range(steps - 1):
        # The linear function that approximates the objective at the mean of p.
        mean = (probabilities[..., None] * states).sum(dim=0)
        linear = potentials.shifted(-temperature * mean)
        best = argmax(linear, solver)
        values = linear.score(states)
        # The Frank-Wolfe gap: no distribution is better by more than this.
        gain = linear.score(best) - (probabilities * values).sum(dim=0)
        # Relative to the scores: a gain within rounding would go on forever.
        size = potentials.score(best).abs() + scores.abs().amax(dim=0) + 1
        gains = gain > TOLERANCE * size
        if not bool(gains.any()):
            break
        states = torch.cat([states, best[None]])
        active = torch.cat([active, gains[None]])
        probabilities = torch.cat([probabilities, torch.zeros_like(gain)[None]])
        scores = potentials.score(states)
        probabilities, active = _over_active(states, scores, probabilities, active, temperature)
        # States without probability leave, so that the systems stay small.
        states, scores, probabilities, active = _compressed(states, scores, probabilities, active)
    return states, active


def _over_active(
    states: torch.Tensor,
    scores: torch.Tensor,
    probabilities: torch.Tensor,
    active: torch.Tensor,
    temperature: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best probabilities over the active states, and the states that keep one.

    The optimum without signs is one linear system. Where it has a negative probability, the
    probabilities move towards it until the first one is zero, and its state leaves. So at most
    `count` systems are solved.
    """
    for _ in range(len(states)):
        system = _optimality(states, active, temperature)
        target = _solved(system, scores, active)
        falling = active & (target < 0)
        if not bool(falling.any()):
            return target, active
        # The clamp keeps a probability that does not fall from dividing by zero.
        way = (probabilities - target).clamp(min=torch.finfo(target.dtype).tiny)
        shares = torch.where(falling, probabilities / way, torch.inf)
        first = shares.amin(dim=0)
        share = first.clamp(max=1.0)
        probabilities = probabilities + share * (target - probabilities)
        leaving = falling & (shares <= first)
        active = active & ~leaving
        probabilities = torch.where(active, probabilities, 0.0)
    return probabilities, active


def _optimality(states: torch.Tensor, active: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return the matrix `[batch, count + 1, count + 1]` of the conditions of an optimum.

    temperature Z Z' p + lambda 1 = h and 1' p = 1 for the active states Z; p is zero elsewhere.
    """
    rows = states.movedim(0, 1)
    used = active.T.to(rows.dtype)
    products = temperature * (rows @ rows.mT)
    # Dependent states make the matrix singular without a ridge.
    products = products + RIDGE * torch.eye(len(states), dtype=rows.dtype, device=rows.device)
    masked = products * used[:, None, :] * used[:, :, None]
    # A row of the identity for a state that is not active keeps its probability at zero.
    masked = masked + torch.diag_embed(1 - used)
    side = used[:, :, None]
    corner = torch.zeros_like(side[:, :1])
    top = torch.cat([masked, side], dim=2)
    bottom = torch.cat([side.mT, corner], dim=2)
    return torch.cat([top, bottom], dim=1)


def _solved(system: torch.Tensor, scores: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    """Return the probabilities `[count, batch]` that solve the system, differentiable in scores."""
    right = torch.where(active, scores, 0.0).T
    right = torch.cat([right, torch.ones_like(right[:, :1])], dim=1)
    solution: torch.Tensor = torch.linalg.solve(system, right[..., None])
    return solution[:, :-1, 0].T


def _compressed(
    states: torch.Tensor, scores: torch.Tensor, probabilities: torch.Tensor, active: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the same with the active states of each image first, and no place that none uses."""
    count = int(active.sum(dim=0).max())
    order = (~active).byte().argsort(dim=0, stable=True)[:count]
    chosen = states.gather(0, order[..., None].expand(-1, -1, states.shape[-1]))
    return (
        chosen,
        scores.gather(0, order),
        probabilities.gather(0, order),
        active.gather(0, order),
    )
