"""Minimise a smooth function by a quasi-Newton method of limited memory.

References:
    Nocedal (1980), Updating quasi-Newton matrices with limited storage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ...limits.deadline import Deadline

MEMORY = 8
"""Number of moves that the approximation of the inverse Hessian remembers."""

DECREASE = 1e-4
"""Decrease that a step needs, as a share of the decrease that the slope predicts (Armijo)."""

HALVINGS = 12
"""Maximum number of halvings of a step."""

CONVERGED = 1e-12
"""Predicted decrease of a step, relative to the value, below which the search ends."""

Function: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Returns the value and the gradient at a point; both are arrays of one shape."""


class Move(NamedTuple):
    """A move, the change of the gradient along it, and the product of both."""

    step: np.ndarray
    change: np.ndarray
    curvature: float


def minimise(
    function: Function, start: np.ndarray, length: float, steps: int, deadline: Deadline
) -> np.ndarray:
    """Return a point whose value is at most that of `start`.

    Args:
        function: the function, with its gradient.
        start: the first point, of any shape.
        length: step along the gradient before any curvature is measured.
        steps: maximum number of steps.
        deadline: time at which the search ends.
    """
    point = start
    value, gradient = function(point)
    moves: deque[Move] = deque(maxlen=MEMORY)
    for _ in range(steps):
        if deadline.passed:
            break
        direction = -_scaled(gradient, moves, length)
        slope = float(np.vdot(direction, gradient))
        # Hardly any descent is left along this direction: the point is stationary.
        if not slope < -CONVERGED * (1.0 + abs(value)):
            break
        share = 1.0
        # Armijo's condition, by halving the step.
        for _ in range(HALVINGS):
            trial = point + share * direction
            trial_value, trial_gradient = function(trial)
            if trial_value <= value + DECREASE * share * slope:
                break
            share *= 0.5
        else:
            # Even the shortest step gains nothing: only rounding is left.
            break
        step = trial - point
        change = trial_gradient - gradient
        curvature = float(np.vdot(step, change))
        # A move without positive curvature would make the approximate Hessian indefinite.
        if curvature > 0.0:
            moves.append(Move(step, change, curvature))
        point = trial
        value = trial_value
        gradient = trial_gradient
    return point


def _scaled(gradient: np.ndarray, moves: deque[Move], length: float) -> np.ndarray:
    """Return the approximate inverse Hessian times the gradient, by the two-loop recursion."""
    result = gradient.copy()
    shares: list[float] = []
    for move in reversed(moves):
        share = float(np.vdot(move.step, result)) / move.curvature
        result -= share * move.change
        shares.append(share)
    if moves:
        # s'y / y'y of the last move is the size of the inverse Hessian along it.
        last = moves[-1]
        length = last.curvature / float(np.vdot(last.change, last.change))
    result *= length
    for move, share in zip(moves, reversed(shares), strict=True):
        again = float(np.vdot(move.change, result)) / move.curvature
        result += (share - again) * move.step
    return result
