"""Solve scores with some fixed bits: best states, their probabilities, and marginals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

import solvers
from models import CategoricalPotentials, Potentials
from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from .listed_states import ListedStates

Fixed: TypeAlias = Mapping[int, int]
"""The bits that keep a value; for categories at most one, with the value 1."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The best states with the fixed bits, in order.

    Attributes:
        states: `[m, n]`.
        scores: `[m]`.
        optimal: `[m]`, whether each state is certified optimal: no remaining state scores more.
        bound: an upper bound on the score of every state with the fixed bits.
        log_probability: `[m]`, log of exp(score) / Z over all states, in nats.
        log_given: `[m]`, the same over the states with the fixed bits.
    """

    states: NDArray[np.int8]
    scores: NDArray[np.float64]
    optimal: NDArray[np.bool_]
    bound: float
    log_probability: NDArray[np.float64]
    log_given: NDArray[np.float64]


def ranked(h: AnyPotentials, fixed: Fixed, count: int) -> Ranked:
    """Return the `count` best states of one row of potentials with the fixed bits, or all."""
    if h.space is not None:
        return _ranked_listed(h, fixed, count)
    log_z = float(Gibbs(h).log_partition[0])
    if isinstance(h, CategoricalPotentials):
        return _ranked_categories(h, fixed, count, log_z)
    n = h.unary.shape[-1]
    pairs = () if h.pairwise is None else (h.pairwise[0].double().numpy(),)
    edges = None if h.edges is None else h.edges.numpy()
    best = solvers.solve(
        h.unary[0].double().numpy(),
        *pairs,
        edges=edges,
        fix=dict(fixed),
        k_best=min(count, 2 ** (n - len(fixed))),
    )
    scores = np.asarray(best.score, dtype=np.float64)
    free, constant = reduced(h, fixed)
    log_total = constant if free is None else constant + float(Gibbs(free).log_partition[0])
    return Ranked(
        np.asarray(best.z, dtype=np.int8),
        scores,
        np.asarray(best.optimal, dtype=bool),
        max(float(np.max(best.bound)), float(scores[0])),
        scores - log_z,
        scores - log_total,
    )


def _ranked_listed(h: AnyPotentials, fixed: Fixed, count: int) -> Ranked:
    """Return the best states of a space, all of which are listed."""
    listed = ListedStates.of(h, fixed)
    scores = listed.scores[:count].numpy()
    return Ranked(
        listed.states[:count].numpy().astype(np.int8),
        scores,
        np.ones(len(scores), bool),
        float(scores[0]),
        scores - listed.log_z,
        scores - listed.log_given,
    )


def _ranked_categories(h: CategoricalPotentials, fixed: Fixed, count: int, log_z: float) -> Ranked:
    scores = h.unary[0].double().numpy()
    order = np.argsort(-scores, kind="stable")[:count]
    if fixed:
        order = np.array([next(iter(fixed))])
    log_given = scores[order] - (scores[order][0] if fixed else log_z)
    eye = np.eye(len(scores), dtype=np.int8)
    best = float(scores[order][0])
    return Ranked(
        eye[order], scores[order], np.ones(len(order), bool), best, scores[order] - log_z, log_given
    )


def reduced(h: Potentials, fixed: Fixed) -> tuple[Potentials | None, float]:
    """Return the scores of the free bits, or None, and the score of the fixed bits.

    h(z) = constant + h_free(z_free): a fixed bit's pairwise scores are unary ones of its
    neighbours.
    """
    n = h.unary.shape[-1]
    value = torch.tensor([fixed.get(i, 0) for i in range(n)], dtype=h.unary.dtype)
    constant = float(h.score(value[None])[0])
    free = [i for i in range(n) if i not in fixed]
    if not free:
        return None, constant
    unary = h.field(value[None])[:, free]
    if h.pairwise is None or h.edges is None:
        return Potentials(unary), constant
    place = torch.full((n,), -1)
    place[free] = torch.arange(len(free))
    edges = place[h.edges]
    kept = (edges >= 0).all(dim=1)
    if not kept.any():
        return Potentials(unary), constant
    return Potentials(unary, h.pairwise[:, kept], edges[kept]), constant


def marginals(
    h: AnyPotentials,
    fixed: Fixed,
    posterior: Callable[[AnyPotentials], Distribution],
    generator: torch.Generator,
    draws: int,
) -> tuple[NDArray[np.float64], str]:
    """Return P(z_i = 1) `[n]` given the fixed bits, and how it was computed."""
    if h.space is not None:
        return ListedStates.of(h, fixed).marginals.numpy(), "the Gibbs distribution, exact"
    n = h.unary.shape[-1]
    probabilities = np.zeros(n)
    for i, value in fixed.items():
        probabilities[i] = value
    if isinstance(h, CategoricalPotentials):
        return (probabilities if fixed else h.unary[0].softmax(dim=-1).double().numpy()), "exact"
    free, _ = reduced(h, fixed)
    if free is None:
        return probabilities, "every bit is fixed"
    places = [i for i in range(n) if i not in fixed]
    q = posterior(free)
    if not q.tractable:
        drawn = q.sample(generator, draws)[:, 0]
        probabilities[places] = drawn.double().mean(dim=0).numpy()
        return probabilities, f"perturb-and-MAP, {draws} draws"
    probabilities[places] = q.marginals[0][0].double().numpy()
    return probabilities, "exact"


def draws_given(
    h: AnyPotentials, fixed: Fixed, count: int, generator: torch.Generator, like: torch.Tensor
) -> torch.Tensor:
    """Return exact samples `[count, n]` of the Gibbs distribution with the fixed bits."""
    if h.space is not None:
        return ListedStates.of(h, fixed).draw(count, generator).to(like.dtype)
    n = h.unary.shape[-1]
    z = torch.zeros((count, n), dtype=like.dtype)
    for i, value in fixed.items():
        z[:, i] = value
    if isinstance(h, CategoricalPotentials):
        return z if fixed else Gibbs(h).sample(generator, count)[:, 0].to(like.dtype)
    free, _ = reduced(h, fixed)
    if free is not None:
        z[:, [i for i in range(n) if i not in fixed]] = (
            Gibbs(free).sample(generator, count)[:, 0].to(like.dtype)
        )
    return z
