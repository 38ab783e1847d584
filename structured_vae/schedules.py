"""Values that change while training."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np

from .errors import ConfigError, shortened


class Schedule(Protocol):
    """A value that depends on the training step."""

    def __call__(self, step: int) -> float:
        """The value at `step`, counted from 0."""


def positive(value: object) -> bool:
    """Whether this is a positive, finite number."""
    if not isinstance(value, float | int | np.floating | np.integer):
        return False
    # half precision has no such maximum
    plain = value.item() if isinstance(value, np.generic) else value
    return bool(0 < plain <= sys.float_info.max)


def as_schedule(value: Schedule | float, name: str) -> Schedule:
    """A number as the schedule that has it at every step.

    Args:
        value: a number or a schedule.
        name: of the argument.

    Raises:
        ConfigError: `value` is neither a positive, finite number, nor a schedule with such a number
            at step 0.
    """
    if positive(value):
        return Constant(float(value))  # type: ignore[arg-type]  # it is a number
    if not callable(value):
        raise ConfigError(f"{name} must be a positive number or a schedule; got {shortened(value)}")
    try:
        first = value(0)
    except Exception as error:
        raise ConfigError(
            f"{name} is not a schedule: it fails at step 0 ({shortened(error)})"
        ) from error
    if not positive(first):
        raise ConfigError(f"{name} must be positive at step 0; got {shortened(first)}")
    return value


def _check_numbers(schedule: Schedule) -> None:
    for name, value in vars(schedule).items():
        if not isinstance(value, Real):
            raise ConfigError(
                f"{name} of {type(schedule).__name__} must be a number; got {shortened(value)}"
            )


@dataclass(frozen=True)
class Constant:
    """The same value at every step.

    Attributes:
        value: positive.

    Raises:
        ConfigError: the value is not positive.
    """

    value: float

    def __post_init__(self) -> None:
        _check_numbers(self)
        if not self.value > 0:
            raise ConfigError(f"the value must be positive; got {self.value}")

    def __call__(self, step: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True)
class Ramp:
    """From `start` to 1 in equal steps, reached after `epochs` epochs: the weight of a KL.

    Up from 0 is a warm-up, which lets the encoder use the code before it pays for it. Down from
    more than 1 is deterministic annealing: a posterior is first spread over all states, which come
    apart as the weight falls, so that none is given up early. What is right depends on the scale of
    the cost: with much too high a weight every state learns the same.

    Attributes:
        epochs: at another weight than 1; 0 for none.
        start: weight before the first step.

    Raises:
        ConfigError: one of them is negative.

    Example:
        >>> [Ramp(3)(epoch) for epoch in range(5)]
        [0.25, 0.5, 0.75, 1.0, 1.0]
        >>> [Ramp(3, start=9)(epoch) for epoch in range(5)]
        [7.0, 5.0, 3.0, 1.0, 1.0]

    References:
        Bowman et al. (2016), Generating sentences from a continuous space.
        Rose (1998), Deterministic annealing for clustering, compression, classification,
        regression, and related optimization problems.
    """

    epochs: int
    start: float = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.epochs < 0 or not self.start >= 0:
            raise ConfigError(f"need epochs >= 0 and start >= 0; got {self}")

    def __call__(self, step: int) -> float:
        """The weight in epoch `step`."""
        share = min(1.0, (step + 1) / (self.epochs + 1))
        return self.start + (1 - self.start) * share


@dataclass(frozen=True)
class ExponentialDecay:
    """max(floor, start * exp(-rate * step)), renewed every `every` steps.

    The defaults are those of the paper's text; its released code renews every 500 steps.

    Attributes:
        start: value at step 0.
        rate: decay a step.
        floor: smallest value.
        every: steps between renewals.

    Raises:
        ConfigError: a value outside its range.

    Example:
        >>> ExponentialDecay(start=1.0, rate=0.1, floor=0.3, every=5)(9)
        0.6065306597126334
    """

    start: float = 1.0
    rate: float = 1e-5
    floor: float = 0.1
    every: int = 1000

    def __post_init__(self) -> None:
        _check_numbers(self)
        if not (0 < self.floor <= self.start and self.rate >= 0 and self.every >= 1):
            raise ConfigError(
                f"need 0 < floor <= start, rate >= 0 and every >= 1; got {self}. Give a floor below the start"
            )

    def __call__(self, step: int) -> float:
        """The value at `step`."""
        renewed = step - step % self.every
        return max(self.floor, self.start * math.exp(-self.rate * renewed))


@dataclass(frozen=True)
class CosineDecay:
    """start * (1 + cos(pi * step / steps)) / 2, down to zero at `steps`.

    Attributes:
        start: value at step 0.
        steps: after which it is zero.

    Raises:
        ConfigError: a value is not positive.

    Example:
        >>> CosineDecay(start=1.0, steps=10)(5)
        0.5

    References:
        Loshchilov, Hutter (2017), SGDR: stochastic gradient descent with warm restarts.
    """

    start: float
    steps: int

    def __post_init__(self) -> None:
        _check_numbers(self)
        if not (self.start > 0 and self.steps > 0):
            raise ConfigError(f"need start > 0 and steps > 0; got {self}")

    def __call__(self, step: int) -> float:
        """The value at `step`."""
        return self.start * (1 + math.cos(math.pi * min(step / self.steps, 1.0))) / 2
