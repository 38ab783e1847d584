"""Options of the gradient of the encoder."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from ...estimators.registry import ESTIMATORS
from ...schedules import ExponentialDecay
from .plain_values import as_float
from .train_config import TrainConfig
from .values import at_least, named

EpsilonRule = Literal["schedule", "scale_free", "adaptive"]
Sides = Literal[1, 2]

FROM_PYTHON: Final = "own"
"""The name of an estimator that the caller passes as an object in Python."""

GIBBS: Final = "gibbs"
"""The name of the default posterior."""


@dataclass(frozen=True)
class EpsilonConfig:
    """The step size of direct, table_direct and implicit_mle, which decays over training.

    epsilon = max(floor, start * exp(-rate * step)).

    Attributes:
        start: value at the first training step; default: 0.1, and 1 with the recipe paper.
        rate: decay per step.
        floor: smallest value.
        every: number of steps between two updates of epsilon.
    """

    start: float | None = None
    rate: float = 1e-5
    floor: float = 0.1
    every: int = 1000

    def schedule(self) -> ExponentialDecay:
        """Return the schedule; `start` must be set."""
        return ExponentialDecay(**asdict(self))


@dataclass(frozen=True, kw_only=True)
class EstimatorConfig(TrainConfig):
    """A training whose encoder needs a gradient estimator.

    Attributes:
        estimator: name of the estimator of the encoder's gradient; own for one passed in Python.
        samples: number of latent states drawn per gradient; default: the estimator's usual number:
            2 for double_cv and rodeo, 4 for score_function, arms, carms and unordered_set, 5 for
            importance weights, 8 for perturbed_argmax, else 1.
        completions: number of bits whose other value ram, and direct of independent bits, try. The
            bits are chosen at random in every step; 0 tries all bits.
        sides: 2 if z(-epsilon) replaces z*, else 1; for direct, table_direct and
            adaptive_implicit_mle. Default: 2 with the recipe elbo, else 1; with the recipe elbo,
            several variables of at most 2^10 states in all have 1 from 100 epochs on.
        epsilon: step size of direct, table_direct and implicit_mle, which decays over training; in
            Python also a number, the same for all steps. It starts at 0.1, and with the recipe
            paper at 1, which learns more slowly.
        epsilon_rule: schedule; scale_free (in units of the mean change of the cost); or adaptive
            (starts at epsilon.start and keeps half of the argmaxes moving).
        temperature: temperature of sparse_map, and of gumbel_softmax and the other estimators that
            relax states, except reinmax. It decays over training; in Python also a number.
    """

    estimator: str = named(ESTIMATORS, (FROM_PYTHON,), default="direct")
    samples: int | None = None
    completions: int = at_least(0, default=0)
    sides: Sides | None = None
    epsilon: EpsilonConfig = field(default_factory=EpsilonConfig)
    epsilon_rule: EpsilonRule = "schedule"
    temperature: ExponentialDecay = field(default_factory=ExponentialDecay)

    @property
    def distribution(self) -> str:
        """The name of the class of the posterior, a key of `POSTERIORS`."""
        return GIBBS

    @property
    def from_python(self) -> tuple[str, ...]:
        """The names of what a caller passes: "estimator" if the estimator is custom."""
        if self.estimator == FROM_PYTHON:
            return (*super().from_python, "estimator")
        return super().from_python

    @property
    def backend(self) -> str:
        """The name of the argmax solver."""
        return "auto"

    @property
    def encoder_name(self) -> str:
        """The name of the encoder in messages; empty if the kind has only one encoder."""
        return ""

    def _simplify(self) -> None:
        """Replace a number by the schedule that has this value at every step."""
        super()._simplify()
        values = vars(self)
        if type(epsilon := values["epsilon"]) in (int, float):
            start = as_float(epsilon)
            self._set("epsilon", EpsilonConfig(start=start, floor=start))
        if type(temperature := values["temperature"]) in (int, float):
            start = as_float(temperature)
            self._set("temperature", ExponentialDecay(start=start, floor=start))
        if isinstance(epsilon, ExponentialDecay):
            self._set("epsilon", EpsilonConfig(**asdict(epsilon)))

    def _complete(self) -> None:
        self._fill(sides=1)
        if self.epsilon.start is None:
            self._set("epsilon", replace(self.epsilon, start=self._first_epsilon))
        super()._complete()

    @property
    def _first_epsilon(self) -> float:
        """The default of `epsilon.start`."""
        return 0.1

    @property
    def _takes_completions(self) -> bool:
        """Whether the option `completions` has a meaning with the estimator."""
        return self.estimator != FROM_PYTHON and ESTIMATORS[self.estimator].takes_completions

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        self.epsilon.schedule()  # raises if the values are no schedule
        if self.completions and not self._takes_completions:
            yield (
                f"completions has no meaning with the estimator {self.estimator}; got "
                f"{self.completions}"
            )


@dataclass(frozen=True, kw_only=True)
class SolverConfig(EstimatorConfig):
    """A training whose argmaxes need a solver.

    Attributes:
        solver: name of the argmax solver, see `structured-vae solvers`; auto chooses the fastest
            exact one.
    """

    solver: str = "auto"

    @property
    def backend(self) -> str:
        """The name of the argmax solver."""
        return self.solver
