"""Search on a device by one-flip tabu moves: all starts of all instances in lockstep.

It works with any array library. A state is a row of a `[batch * starts, n]` array. A step takes the
largest gain of each row whose variable is not tabu, or whose flip leads to a new best of the row.
Flipping variable k of row r adds to the gains of that row

    pairwise[instance of r, k, :] * sign_k * sign,   sign = 1 - 2 z.

References:
    Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic
    problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array, States, as_float64, beside, namespace_of, to_numpy
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import Problem
from ..exhaustive.device import dense_matrices

REFRESH = 256
"""Flips between two computations of gains and scores from scratch, which remove rounding drift."""
STEPS_A_LOOK = 16
"""Flips between two checks of the deadline."""
RELINKED = 0.5
"""Share of the variables that a restart takes from another start's best state."""
KICKED = 0.1
"""Share of the variables that a restart flips."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The instances, next to the states of all starts.

    Attributes:
        unary: `[batch, 1, n]`.
        matrix: `[batch, n, n]`, symmetric with a zero diagonal.
        flat: `[batch * n, n]`, the same matrix.
        offset: `[batch * starts]`, the row of `flat` where the instance of each state begins.
        variables: `[1, n]`, 0 .. n - 1.
        starts: number of states per instance.
    """

    unary: Array
    matrix: Array
    flat: Array
    offset: Array
    variables: Array
    starts: int

    @classmethod
    def of(cls, problem: Problem, starts: int) -> _Rows:
        """Build the rows of `starts` states per instance."""
        xp = namespace_of(problem.unary)
        upper = xp.astype(dense_matrices(problem), problem.unary.dtype, copy=False)
        matrix = upper + xp.matrix_transpose(upper)
        batch, n = problem.unary.shape
        offset = beside(problem.unary, np.repeat(np.arange(batch) * n, starts))
        variables = beside(problem.unary, np.arange(n)[None])
        flat = xp.reshape(matrix, (batch * n, n))
        return cls(problem.unary[:, None, :], matrix, flat, offset, variables, starts)

    def gains(self, z: Array) -> tuple[Array, Array]:
        """Return gains `[rows, n]` and scores `[rows]` of states `[rows, n]`, from scratch."""
        xp = namespace_of(z)
        state = xp.reshape(z, (self.matrix.shape[0], self.starts, -1))
        towards = state @ self.matrix
        score = xp.sum(state * (self.unary + towards / 2), axis=-1)
        gains = (1 - 2 * state) * (self.unary + towards)
        return xp.reshape(gains, z.shape), xp.reshape(score, (-1,))


def device_tabu(
    problem: Problem,
    starts: int = 4,
    seed: int = 0,
    flips: int | None = None,
    rounds: int = 1,
    deadline: Deadline | None = None,
) -> States:
    """Return the best assignments of the search, `[batch, n]`, without an optimality certificate.

    It needs memory for a `[batch, n, n]` array and a few `[batch, starts, n]` ones. Without a time
    limit the answer depends on the seed alone.

    Args:
        problem: coefficients of any array library, on any device.
        starts: states per instance.
        seed: seed of the random numbers, drawn on the host and shared by the batch.
        flips: flips of a state per round; None for a default that grows with n.
        rounds: rounds of flips; every round but the first restarts from between the best states.
        deadline: time until which further rounds follow, and which also ends a round; None for
            exactly `rounds` rounds.
    """
    xp = namespace_of(problem.unary)
    random = np.random.default_rng(seed)
    flips = flips or 50 + 4 * problem.n
    rows = _Rows.of(problem, starts)
    until_then = deadline is not None
    deadline = deadline or Deadline.after(None)
    best_z = _tiled(random.random((starts, problem.n)) < 0.5, problem)
    best = rows.gains(best_z)[1]
    z = best_z
    done = 0
    # At least one round gives a state to return, even if the deadline has passed.
    while not done or (not deadline.passed and (done < rounds or until_then)):
        if done:
            z = _restarted(best_z, rows, random, problem)
        z, score = _run(z, rows, flips, random, deadline)
        better = score > best
        best_z = xp.where(better[:, None], z, best_z)
        best = xp.where(better, score, best)
        done += 1
        deadline.tell(partial(_known, best_z, problem, starts))
    return _winners(best_z, problem, starts)


def _run(
    z: Array, rows: _Rows, flips: int, random: np.random.Generator, deadline: Deadline
) -> tuple[Array, Array]:
    """Return the best states and scores along `flips` tabu flips of each row, or fewer in time."""
    xp = namespace_of(z)
    n = z.shape[1]
    tenure = min(n // 100 + 8, n // 4)
    # All random numbers are drawn at once: one transfer to the device instead of one per flip.
    drawn = tenure + random.integers(0, min(10, n - tenure), (flips, 1, rows.starts))
    tenures = xp.broadcast_to(beside(z, drawn), (flips, rows.matrix.shape[0], rows.starts))
    until = xp.zeros_like(z, dtype=xp.int64)
    gains, score = rows.gains(z)
    best_z = z
    best = score
    for step in range(flips):
        if step and step % STEPS_A_LOOK == 0:
            # Callbacks run here, in the caller's thread.
            deadline.tell(partial(Known, None))
            if deadline.passed:
                break
        # Gains are updated flip by flip. Computing them again keeps rounding errors small.
        if step and step % REFRESH == 0:
            gains, score = rows.gains(z)
        # Choose the best flip of each row that is not tabu, or that leads to a new best state.
        allowed = (until <= step) | (gains > (best - score)[:, None])
        k = xp.argmax(xp.where(allowed, gains, -xp.inf), axis=-1)
        chosen = rows.variables == k[:, None]
        sign = 1 - 2 * z
        gained = xp.sum(xp.where(chosen, gains, 0.0), axis=-1)
        sign_k = xp.sum(xp.where(chosen, sign, 0.0), axis=-1)
        # Flipping k negates gain_k and adds pairwise_kj sign_k sign_j to gain_j.
        row = xp.take(rows.flat, rows.offset + k, axis=0)
        gains = xp.where(chosen, -gains, gains + row * sign * sign_k[:, None])
        z = xp.where(chosen, 1 - z, z)
        score = score + gained
        until = xp.where(chosen, step + 1 + xp.reshape(tenures[step, :, :], (-1, 1)), until)
        better = score > best
        best = xp.where(better, score, best)
        best_z = xp.where(better[:, None], z, best_z)
    return best_z, best


def _restarted(best_z: Array, rows: _Rows, random: np.random.Generator, problem: Problem) -> Array:
    """Return states between each best state and that of another start, with some random flips."""
    xp = namespace_of(best_z)
    shape = (rows.starts, problem.n)
    states = xp.reshape(best_z, (-1, *shape))
    partner = xp.reshape(xp.roll(states, int(random.integers(rows.starts)), axis=1), best_z.shape)
    relinked = _tiled(random.random(shape) < RELINKED, problem)
    kicked = _tiled(random.random(shape) < KICKED, problem)
    between = xp.where(relinked > 0, partner, best_z)
    return xp.where(kicked > 0, 1 - between, between)


def _tiled(states: np.ndarray, problem: Problem) -> Any:
    """Return states `[starts, n]` of the host as `[batch * starts, n]` on the problem's device."""
    xp = namespace_of(problem.unary)
    one = xp.astype(beside(problem.unary, states.astype(np.float64)), problem.unary.dtype)
    return xp.reshape(xp.broadcast_to(one, (problem.batch, *states.shape)), (-1, states.shape[1]))


def _known(best_z: Array, problem: Problem, starts: int) -> Known:
    return Known(to_numpy(_winners(best_z, problem, starts)))


def _winners(best_z: Array, problem: Problem, starts: int) -> States:
    """Return the best state of each instance, `[batch, n]`, scored in float64."""
    xp = namespace_of(best_z)
    states = xp.reshape(best_z, (problem.batch, starts, problem.n))
    scores = xp.stack([problem.score_flat(states[:, start, :]) for start in range(starts)], axis=-1)
    winner = xp.argmax(scores, axis=-1, keepdims=True)
    number = beside(problem.unary, np.arange(starts)[None])
    picked = xp.where((number == winner)[:, :, None], as_float64(states), 0.0)
    return xp.astype(xp.sum(picked, axis=1), xp.int8)
