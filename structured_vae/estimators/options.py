"""Options of the estimator in a configuration, for every estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Self

from ..distributions.argmax import AnySolver
from ..schedules import ExponentialDecay
from .argmax.epsilon import Adaptive, Epsilon, ScaleFree, Scheduled

EpsilonRule = Literal["schedule", "scale_free", "adaptive"]


@dataclass(frozen=True, kw_only=True)
class EstimatorOptions:
    """The options from which `Estimator.of_options` makes an estimator.

    Attributes:
        n: length of a latent state.
        solver: solves the argmaxes, by name or object.
        samples: latent states drawn for a gradient.
        completions: variables whose other values are tried; None for all.
        sides: 2 for a central difference, else 1.
        epsilon: the step, as it decays over training.
        epsilon_rule: what epsilon is measured in.
        temperature: of relaxed states, as it decays over training.
    """

    n: int
    solver: AnySolver = "auto"
    samples: int = 1
    completions: int | None = None
    sides: Literal[1, 2] = 1
    epsilon: ExponentialDecay = field(default_factory=lambda: ExponentialDecay(start=0.1))
    epsilon_rule: EpsilonRule = "schedule"
    temperature: ExponentialDecay = field(default_factory=ExponentialDecay)

    @classmethod
    def at(cls, setting: float, n: int, solver: AnySolver = "auto") -> Self:
        """Return options with one value for epsilon and the temperature, at every step.

        Args:
            setting: the value.
            n: length of a latent state.
            solver: solves the argmaxes, by name or object.
        """
        constant = ExponentialDecay(start=setting, rate=0.0, floor=setting)
        return cls(n=n, solver=solver, epsilon=constant, temperature=constant)

    def new_epsilon(self) -> Epsilon:
        """Return the module of the step; it may have a state, so each estimator gets a new one."""
        rules: dict[EpsilonRule, Callable[[], Epsilon]] = {
            "schedule": lambda: Scheduled(self.epsilon),
            "scale_free": lambda: ScaleFree(self.epsilon),
            "adaptive": lambda: Adaptive(self.epsilon.start),
        }
        return rules[self.epsilon_rule]()
