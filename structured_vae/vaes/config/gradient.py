"""Options of the gradient of the encoder."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from ...estimators.registry import ESTIMATORS
from ...schedules import ExponentialDecay
from .train_config import TrainConfig
from .values import at_least, named

EpsilonRule = Literal["schedule", "scale_free", "adaptive"]
Sides = Literal[1, 2]

FROM_PYTHON: Final = "own"
"""The name of an estimator that a caller gives as an object in Python."""

GIBBS: Final = "gibbs"
"""The name of the usual posterior."""


@dataclass(frozen=True)
class EpsilonConfig:
    """The step of direct, table_direct and implicit_mle, as it decays: max(floor, start * exp(-rate * step)).

    Attributes:
        start: at the first training step; default: 0.1, and with the recipe paper the paper's 1.
        rate: decay a step.
        floor: smallest value.
        every: steps between renewals.
    """

    start: float | None = None
    rate: float = 1e-5
    floor: float = 0.1
    every: int = 1000

    def schedule(self) -> ExponentialDecay:
        """The values, once `start` is known."""
        return ExponentialDecay(**asdict(self))


@dataclass(frozen=True, kw_only=True)
class EstimatorConfig(TrainConfig):
    """A training whose encoder needs a gradient estimator.

    Attributes:
        estimator: of the encoder's gradient, by name; own is one that is given in Python.
        samples: latent states drawn for a gradient; default: what is usual for the estimator: 1,
            double_cv and rodeo 2, score_function, arms, carms and unordered_set 4, importance
            weights 5, perturbed_argmax 8.
        completions: bits of which ram, and direct of independent bits, try the other value, chosen
            at random in every step; 0 for all.
        sides: of direct, table_direct and adaptive_implicit_mle: 2 for z(-epsilon) in the place of
            z*, or 1; default: 2 with the recipe elbo but for codes of up to ten bits from 100
            epochs on, else 1.
        epsilon: step of direct, table_direct and implicit_mle, as it decays over training, or in
            Python a number for all steps; starts at 0.1, with the recipe paper at 1, which learns
            more slowly.
        epsilon_rule: schedule; scale_free (in units of the mean change of the cost); or adaptive
            (starts at epsilon.start and keeps half of the argmaxes moving).
        temperature: of gumbel_softmax and all that relax states, but reinmax, and of sparse_map, as
            it decays over training, or in Python a number.
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
        """The name of the class of the posterior, a key of `distributions.POSTERIORS`."""
        return GIBBS

    @property
    def from_python(self) -> tuple[str, ...]:
        """The estimator, where none of ours is named."""
        if self.estimator == FROM_PYTHON:
            return (*super().from_python, "estimator")
        return super().from_python

    @property
    def backend(self) -> str:
        """The solver of argmaxes, by name."""
        return "auto"

    @property
    def encoder_name(self) -> str:
        """The encoder in messages; empty where there is one alone."""
        return ""

    def _simplify(self) -> None:
        """Take a number as the schedule that has it at every step."""
        super()._simplify()
        values = vars(self)
        if type(epsilon := values["epsilon"]) in (int, float):
            self._set("epsilon", EpsilonConfig(start=float(epsilon), floor=float(epsilon)))
        if type(temperature := values["temperature"]) in (int, float):
            same = ExponentialDecay(start=float(temperature), floor=float(temperature))
            self._set("temperature", same)
        if isinstance(epsilon, ExponentialDecay):
            self._set("epsilon", EpsilonConfig(**asdict(epsilon)))

    def _complete(self) -> None:
        self._fill(sides=1)
        if self.epsilon.start is None:
            self._set("epsilon", replace(self.epsilon, start=self._first_epsilon))
        super()._complete()

    @property
    def _first_epsilon(self) -> float:
        """Where epsilon starts unless it is said."""
        return 0.1

    @property
    def _takes_completions(self) -> bool:
        """Whether the estimator tries the other values of some variables; its class says so."""
        return self.estimator != FROM_PYTHON and ESTIMATORS[self.estimator].takes_completions

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        self.epsilon.schedule()  # which raises where it is none
        if self.completions and not self._takes_completions:
            yield (
                f"completions has no meaning with the estimator {self.estimator}; got "
                f"{self.completions}"
            )


@dataclass(frozen=True, kw_only=True)
class SolverConfig(EstimatorConfig):
    """A training whose argmaxes need a solver.

    Attributes:
        solver: argmax backend, see `structured-vae solvers`; auto picks the fastest exact one.
    """

    solver: str = "auto"

    @property
    def backend(self) -> str:
        """The solver of argmaxes, by name."""
        return self.solver
