"""Tabu search with one-flip moves on a device: all starts of all instances in lockstep, any array library.

A state is a row of a `[batch * starts, n]` array. A step takes the largest gain of each row that is
not tabu or leads to a new best of the row, and adds to the gains of row r, flipping its variable k,

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
from ...problem import Problem
from ..exhaustive.device import dense_matrices

REFRESH = 256
"""Flips between two computations of gains and scores from nothing, which end the drift of their sums."""
STEPS_A_LOOK = 16
"""Flips between two looks at the deadline."""
RELINKED = 0.5
"""Share of the variables that a restart takes from another start's best state."""
KICKED = 0.1
"""Share of the variables that a restart flips."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The instances, beside the states of all starts.

    Attributes:
        unary: `[batch, 1, n]`.
        matrix: `[batch, n, n]`, symmetric with a zero diagonal.
        flat: `[batch * n, n]`, the same matrix.
        offset: `[batch * starts]`, the row of `flat` where the instance of each state begins.
        variables: `[1, n]`, 0 .. n - 1.
        starts: how many states an instance has.
    """

    unary: Array
    matrix: Array
    flat: Array
    offset: Array
    variables: Array
    starts: int

    @classmethod
    def of(cls, problem: Problem, starts: int) -> _Rows:
        """The rows of `starts` states an instance."""
        xp = namespace_of(problem.unary)
        upper = xp.astype(dense_matrices(problem), problem.unary.dtype, copy=False)
        matrix = upper + xp.matrix_transpose(upper)
        batch, n = problem.unary.shape
        offset = beside(problem.unary, np.repeat(np.arange(batch) * n, starts))
        variables = beside(problem.unary, np.arange(n)[None])
        flat = xp.reshape(matrix, (batch * n, n))
        return cls(problem.unary[:, None, :], matrix, flat, offset, variables, starts)

    def gains(self, z: Array) -> tuple[Array, Array]:
        """`[rows, n]` gains and `[rows]` scores of states `[rows, n]`, from nothing."""
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
    """The best assignments found, `[batch, n]`; no proof that they are maximisers.

    Needs memory for a `[batch, n, n]` array and a few `[batch, starts, n]` ones. Depends on the
    seed alone where there is no time limit.

    Args:
        problem: coefficients of any array library, on any device.
        starts: states of an instance.
        seed: of the random numbers, drawn on the host and shared by the batch.
        flips: flips of a state in a round; None for a default that grows with n.
        rounds: rounds of flips; each but the first restarts from between the best states.
        deadline: until when to go on with rounds beyond `rounds`, and when to end inside one; None
            for neither.
    """
    xp = namespace_of(problem.unary)
    random = np.random.default_rng(seed)
    flips = flips or 50 + 4 * problem.n
    rows = _Rows.of(problem, starts)
    until_then, deadline = deadline is not None, deadline or Deadline.after(None)
    best_z = _tiled(random.random((starts, problem.n)) < 0.5, problem)
    best = rows.gains(best_z)[1]
    z, done = best_z, 0
    while not done or (not deadline.passed and (done < rounds or until_then)):
        if done:
            z = _restarted(best_z, rows, random, problem)
        z, score = _run(z, rows, flips, random, deadline)
        better = score > best
        best_z, best = xp.where(better[:, None], z, best_z), xp.where(better, score, best)
        done += 1
        deadline.tell(partial(_known, best_z, problem, starts))
    return _winners(best_z, problem, starts)


def _run(
    z: Array, rows: _Rows, flips: int, random: np.random.Generator, deadline: Deadline
) -> tuple[Array, Array]:
    """The best states and scores that `flips` tabu flips of each row pass by, fewer where the time is up."""
    xp = namespace_of(z)
    n = z.shape[1]
    tenure = min(n // 100 + 8, n // 4)
    drawn = tenure + random.integers(0, min(10, n - tenure), (flips, 1, rows.starts))
    tenures = xp.broadcast_to(beside(z, drawn), (flips, rows.matrix.shape[0], rows.starts))
    until = xp.zeros_like(z, dtype=xp.int64)
    gains, score = rows.gains(z)
    best_z, best = z, score
    for step in range(flips):
        if step and step % STEPS_A_LOOK == 0:
            # in the thread of the caller, who hears something at last
            deadline.tell(partial(Known, None))
            if deadline.passed:
                break
        if step and step % REFRESH == 0:
            gains, score = rows.gains(z)
        allowed = (until <= step) | (gains > (best - score)[:, None])
        k = xp.argmax(xp.where(allowed, gains, -xp.inf), axis=-1)
        chosen = rows.variables == k[:, None]
        sign = 1 - 2 * z
        gained = xp.sum(xp.where(chosen, gains, 0.0), axis=-1)
        sign_k = xp.sum(xp.where(chosen, sign, 0.0), axis=-1)
        row = xp.take(rows.flat, rows.offset + k, axis=0)
        gains = xp.where(chosen, -gains, gains + row * sign * sign_k[:, None])
        z = xp.where(chosen, 1 - z, z)
        score = score + gained
        until = xp.where(chosen, step + 1 + xp.reshape(tenures[step, :, :], (-1, 1)), until)
        better = score > best
        best, best_z = xp.where(better, score, best), xp.where(better[:, None], z, best_z)
    return best_z, best


def _restarted(best_z: Array, rows: _Rows, random: np.random.Generator, problem: Problem) -> Array:
    """Between each best state and that of another start, and some random flips away."""
    xp = namespace_of(best_z)
    shape = (rows.starts, problem.n)
    states = xp.reshape(best_z, (-1, *shape))
    partner = xp.reshape(xp.roll(states, int(random.integers(rows.starts)), axis=1), best_z.shape)
    relinked = _tiled(random.random(shape) < RELINKED, problem)
    kicked = _tiled(random.random(shape) < KICKED, problem)
    between = xp.where(relinked > 0, partner, best_z)
    return xp.where(kicked > 0, 1 - between, between)


def _tiled(states: np.ndarray, problem: Problem) -> Any:
    """`[starts, n]` on the host as `[batch * starts, n]` beside the coefficients."""
    xp = namespace_of(problem.unary)
    one = xp.astype(beside(problem.unary, states.astype(np.float64)), problem.unary.dtype)
    return xp.reshape(xp.broadcast_to(one, (problem.batch, *states.shape)), (-1, states.shape[1]))


def _known(best_z: Array, problem: Problem, starts: int) -> Known:
    return Known(to_numpy(_winners(best_z, problem, starts)))


def _winners(best_z: Array, problem: Problem, starts: int) -> States:
    """`[batch, n]`: of each instance's states the best one, scored in float64."""
    xp = namespace_of(best_z)
    states = xp.reshape(best_z, (problem.batch, starts, problem.n))
    scores = xp.stack([problem.score_flat(states[:, start, :]) for start in range(starts)], axis=-1)
    winner = xp.argmax(scores, axis=-1, keepdims=True)
    number = beside(problem.unary, np.arange(starts)[None])
    picked = xp.where((number == winner)[:, :, None], as_float64(states), 0.0)
    return xp.astype(xp.sum(picked, axis=1), xp.int8)
