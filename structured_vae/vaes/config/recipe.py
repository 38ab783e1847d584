"""Options of the objective: the weight of its KL, and the recipe."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...distributions.registry import POSTERIORS
from ...estimators.registry import ESTIMATORS
from .gradient import FROM_PYTHON, GIBBS, SolverConfig
from .train_config import TrainConfig
from .values import known, named

Recipe = Literal["paper", "elbo"]


@dataclass(frozen=True, kw_only=True)
class KLConfig(TrainConfig):
    """A training in which the weight of the KL may change.

    Attributes:
        kl_warmup: number of epochs over which the weight of the KL goes from kl_start to 1, in
            equal steps; 0 for none. Default: a quarter of the epochs with the recipe elbo and at
            most 2^10 states, or if kl_start is set; else 0.
        kl_start: weight of the KL at the start. With 0, the KL does not limit the encoder at first.
            Above 1, the posterior at first spreads over all states, so that the model abandons none
            early (deterministic annealing). Default: 30 for one variable of k values, else 10; and
            0 if kl_warmup is set or 0.
    """

    kl_warmup: int | None = None
    kl_start: float | None = None

    def _complete(self) -> None:
        warmup = 0
        if self.kl_start:
            warmup = self.epochs // 4
        self._fill(kl_warmup=warmup)
        self._fill(kl_start=0.0)
        super()._complete()

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        warmup = known(self.kl_warmup)
        start = known(self.kl_start)
        if warmup < 0:
            yield f"kl_warmup must be at least 0; got {warmup}"
        if not start >= 0:
            yield f"kl_start must be at least 0; got {start}"
        if start != 0 and not warmup > 0:
            yield (
                f"kl_start {start} has no effect without kl_warmup, the number of epochs until the "
                "weight is 1: set kl_warmup"
            )


@dataclass(frozen=True, kw_only=True)
class RecipeConfig(KLConfig, SolverConfig):
    """A training whose latent variables are all discrete.

    Attributes:
        recipe: elbo, the default, trains the whole bound; with paper, direct does not train the KL,
            as in the released code, and options that are not set have the paper's values.
        posterior: gibbs is exp(h(z)) / Z. With autoregressive, for any n, the encoder's pairwise
            scores make bits depend on the bits before them; only the estimators score_function,
            nvil, rodeo, unordered_set, ram, vimco, ovis, wake_wake, wake_sleep and
            reweighted_wake_sleep accept it. Packages may add names.
    """

    recipe: Recipe | None = None
    posterior: str = named(POSTERIORS, default=GIBBS)

    @property
    def distribution(self) -> str:
        """The name of the class of the posterior, a key of `POSTERIORS`."""
        return self.posterior

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if self.posterior == GIBBS or self.estimator == FROM_PYTHON:
            return
        if not ESTIMATORS[self.estimator].takes_any_density:
            able = [name for name, kind in ESTIMATORS.items() if kind.takes_any_density]
            yield (
                f"the posterior {self.posterior} is for the estimators {', '.join(able)}; "
                f"got {self.estimator}"
            )

    def _complete(self) -> None:
        """Set the options that were best on validation images, see `results/defaults.json`."""
        self._fill(recipe="elbo")
        if self._is_whole:
            self._fill(sides=2, rate_decay="cosine")
        if self._is_whole and self.rate_decay == "cosine":
            self._fill(learning_rate=2e-3)
        super()._complete()

    @property
    def _is_whole(self) -> bool:
        """Whether the whole bound is trained."""
        return self.recipe == "elbo"
