"""All states of a small problem, and what they say of an answer, without code of the solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers import InfeasibleError, Solution

from .outcomes import claim

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class States:
    """All states of a batch of problems, with their scores.

    Attributes:
        z: `[states, n]`, integers.
        scores: `[batch, states]`, float64; minus infinity for a state that is not allowed.
        slack: `[batch]`: by how much rounding can change a score.
    """

    z: np.ndarray
    scores: np.ndarray
    slack: np.ndarray

    @classmethod
    def of_bits(cls, unary: Any, pairwise: Any, edges: np.ndarray) -> States:
        """Enumerate the states of bits.

        Args:
            unary: `[..., n]`.
            pairwise: `[..., e]`.
            edges: `[e, 2]`.
        """
        n = np.shape(unary)[-1]
        tables = np.zeros((*np.shape(pairwise), 2, 2))
        tables[..., 1, 1] = pairwise
        return cls.of_labels(
            np.stack([np.zeros_like(unary), unary], axis=-1), tables, edges, np.full(n, 2)
        )

    @classmethod
    def of_labels(
        cls, unary: np.ndarray, tables: np.ndarray, edges: np.ndarray, sizes: np.ndarray
    ) -> States:
        """Enumerate the states of labels.

        Args:
            unary: `[..., n, k]`.
            tables: `[..., e, k, k]`, rows being values of the first variable of an edge as it is
                given.
            edges: `[e, 2]`.
            sizes: `[n]`.
        """
        n, k = unary.shape[-2:]
        e = len(edges)
        z = np.array(list(np.ndindex(*sizes)), np.int64).reshape(-1, n)
        rows = unary.reshape(-1, n, k)
        scores = rows[:, np.arange(n), z].sum(axis=-1)
        size = _largest(rows).sum(axis=-1)
        if e:
            of_pairs = np.broadcast_to(tables, (*unary.shape[:-2], e, k, k)).reshape(-1, e, k, k)
            for edge, (i, j) in enumerate(edges):
                scores = scores + of_pairs[:, edge, z[:, i], z[:, j]]
            size = size + _largest(of_pairs.reshape(len(of_pairs), e, k * k)).sum(axis=-1)
        return cls(z, scores, 8 * EPSILON * (n + e + 1) * size)

    def only(self, allowed: np.ndarray) -> States:
        """Forbid all states but those of a mask `[states]` or `[batch, states]`."""
        return States(self.z, np.where(allowed, self.scores, -np.inf), self.slack)

    def place_of(self, z: np.ndarray) -> int:
        """Return the row of a state `[n]`; -1 if it is none."""
        rows = np.flatnonzero((self.z == z).all(axis=1))
        return int(rows[0]) if len(rows) else -1


def _largest(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(scores), 0.0, np.abs(scores)).max(axis=-1)


def answered(states: States, search: Callable[[], Solution]) -> Solution:
    """Return what a search finds; an instance may be called infeasible only if it has no allowed state."""
    try:
        return search()
    except InfeasibleError:
        best = states.scores.max(axis=1)
        claim(
            bool(np.isneginf(best).any()), f"a problem is called infeasible: its maxima are {best}"
        )
        raise


def check_solution(states: States, solution: Solution) -> None:
    """Raise a `FalseClaim` unless all that a solution says of each instance is true."""
    for b, answer in enumerate(_instances(states, solution, ())):
        z, score, bound, optimal = answer
        _check_state(states, b, z, float(score))
        best = states.scores[b].max()
        claim(bound >= best - states.slack[b], f"a bound is below the maximum: {bound} and {best}")
        claim(bound >= score, f"a bound is below the score: {bound} and {score}")
        claim(
            not optimal or score >= best - states.slack[b],
            f"a state is falsely optimal: it scores {score}, and the maximum is {best}",
        )


def check_ranking(states: States, solution: Solution, count: int) -> None:
    """Raise a `FalseClaim` unless all that is said of the `count` best states of each instance is true."""
    for b, answer in enumerate(_instances(states, solution, (count,))):
        z, score, bound, optimal = answer
        others = states.scores[b].copy()
        for k in range(count):
            left = others.max()
            claim(
                not k or score[k] <= score[k - 1],
                f"scores of several states are not in order: {score}",
            )
            claim(
                bound[k] >= left - states.slack[b],
                f"a bound of several states is below another one: bound {k} is {bound[k]}, the score {left}",
            )
            claim(
                not optimal[k] or score[k] >= left - states.slack[b],
                f"one of several states is falsely optimal: state {k} scores {score[k]}, another one {left}",
            )
            if score[k] == -np.inf:
                claim((z[k] == -1).all(), f"a state that was not found is not -1: {z[k]}")
                continue
            place = _check_state(states, b, z[k], float(score[k]))
            claim(others[place] > -np.inf, f"a state comes twice: {z[k].tolist()}")
            others[place] = -np.inf


def _instances(
    states: States, solution: Solution, further: tuple[int, ...]
) -> list[tuple[Any, ...]]:
    """Return state, score, bound and `optimal` of each instance, as numpy arrays."""
    batch, n = len(states.scores), states.z.shape[1]
    z = np.asarray(solution.z).reshape(batch, *further, n)
    parts = [np.asarray(part) for part in (solution.score, solution.bound, solution.optimal)]
    return list(zip(z, *(part.reshape(batch, *further) for part in parts), strict=True))


def _check_state(states: States, instance: int, z: np.ndarray, score: float) -> int:
    place = states.place_of(z)
    claim(place >= 0, f"a state has values that it cannot have: {z.tolist()}")
    right = states.scores[instance, place]
    claim(right > -np.inf, f"a state is forbidden: {z.tolist()}, with the score {score}")
    claim(
        abs(score - right) <= states.slack[instance],
        f"a score is wrong: {score} instead of {right}",
    )
    return place
