"""Schedules: values that change during training."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from models.arguments import number

from .errors import ConfigError, shortened


class Schedule(Protocol):
    """A value that depends on the training step."""

    def __call__(self, step: int) -> float:
        """Return the value at `step`, counted from 0."""


def positive(value: object) -> bool:
    """Return True if `value` is a positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
        return False
    # Half precision cannot represent the maximum, so compare Python numbers.
    number = value
    if isinstance(value, np.generic):
        number = value.item()
    return bool(0 < number <= sys.float_info.max)


def as_schedule(value: Schedule | float, name: str) -> Schedule:
    """Return a schedule unchanged, and a number as a constant schedule.

    Args:
        value: a number or a schedule.
        name: the name of the argument, for messages.

    Raises:
        ConfigError: `value` is neither a positive, finite number, nor a schedule with such a number
            at step 0.
    """
    if positive(value):
        return Constant(float(value))  # type: ignore[arg-type]  # `positive` checks the type
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
        number(value, f"{name} of {type(schedule).__name__}", ConfigError, "a finite number")


@dataclass(frozen=True)
class Constant:
    """A schedule with the same value at every step.

    Attributes:
        value: the value, positive.

    Raises:
        ConfigError: the value is not positive.
    """

    value: float

    def __post_init__(self) -> None:
        _check_numbers(self)
        if not self.value > 0:
            raise ConfigError(f"the value must be positive; got {self.value}")

    def __call__(self, step: int) -> float:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class Ramp:
    """A linear ramp from `start` to 1 over `epochs` epochs, for the weight of a KL term.

    A ramp up from 0 is KL warm-up: the encoder learns to use the code before the code is penalised.
    A ramp down from more than 1 is deterministic annealing: the posterior starts spread over all
    states and concentrates as the weight falls, so that no state is abandoned early. The right
    start depends on the scale of the cost: if it is far too high, all states learn the same.

    Attributes:
        epochs: the number of epochs before the weight is 1; 0 for a constant weight of 1.
        start: the weight before the first epoch.

    Raises:
        ConfigError: `epochs` or `start` is negative.

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
        """Return the weight in epoch `step`, counted from 0."""
        share = min(1.0, (step + 1) / (self.epochs + 1))
        return self.start + (1 - self.start) * share


@dataclass(frozen=True)
class ExponentialDecay:
    """An exponential decay max(floor, start * exp(-rate * step)), updated every `every` steps.

    The defaults are those of the paper's text; its released code updates every 500 steps.

    Attributes:
        start: the value at step 0.
        rate: the decay rate per step.
        floor: the smallest value.
        every: the number of steps between two updates.

    Raises:
        ConfigError: a value is out of range.

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
                f"need 0 < floor <= start, rate >= 0 and every >= 1; got {self}. "
                "Choose a floor below the start"
            )

    def __call__(self, step: int) -> float:
        """Return the value at `step`."""
        updated = step - step % self.every
        return max(self.floor, self.start * math.exp(-self.rate * updated))


@dataclass(frozen=True)
class CosineDecay:
    """A cosine decay start * (1 + cos(pi * step / steps)) / 2, which reaches zero at `steps`.

    Attributes:
        start: the value at step 0.
        steps: the number of steps after which the value is zero.

    Raises:
        ConfigError: `start` or `steps` is not positive.

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
        """Return the value at `step`."""
        return self.start * (1 + math.cos(math.pi * min(step / self.steps, 1.0))) / 2


SCHEDULES: Final = (Constant, Ramp, ExponentialDecay, CosineDecay)
"""The kinds of schedules that this library has."""
