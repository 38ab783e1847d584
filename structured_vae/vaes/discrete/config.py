"""Options of the kind `discrete`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from models.networks.encoders.registry import CATEGORICAL, ENCODERS

from ...errors import ConfigError
from ...spaces.registry import SPACES
from ..config import GIBBS, EncoderConfig, RecipeConfig, at_least
from ..config.class_options import read_options, titled
from ..config.values import faults_of_prior_sizes, named
from .spaces import BITS, space_of_options, takes

Couplings = Literal["none", "potts", "general"]
Prior = Literal["uniform", "factorised", "gibbs", "linear", "made", "transformer"]

AUTOREGRESSIVE: Final = ("linear", "made", "transformer")
"""The names of the autoregressive priors."""

WITH_HIDDEN_LAYERS: Final = ("made", "transformer")
"""The autoregressive priors with hidden layers, whose sizes are options."""

HEADS: Final = 4
"""The number of attention heads of the prior transformer, as in `models`.

The size of its vectors is a multiple of it.
"""

FEW_BITS: Final = 10
"""Base-2 logarithm of the largest number of states for which the weight of the KL is annealed.

With few states, the model otherwise soon abandons some of them for good.
"""

LONG: Final = 100
"""Number of epochs from which `sides` is 1 by default where there are few states.

One-sided direct optimization then reaches a bound of fewer nats, except for one variable.
"""


@dataclass(frozen=True, kw_only=True)
class DiscreteConfig(RecipeConfig, EncoderConfig):
    """Bits, or variables of k categories.

    Attributes:
        encoder: posterior over n bits, by the name of its scores, such as supermodular, with
            pairwise scores >= 0; or categorical, over one or more variables of k categories. A
            posterior over attributes is over bits.
        n: binary latent variables, or continuous dimensions of the model gaussian.
        k: categories of the categorical encoder, or classes of the mixture.
        variables: of the categorical encoder, with k categories each.
        couplings: of these: none; potts, a score for equal categories of two variables; or general,
            one for every pair of categories.
        bandwidth: of an encoder with pairwise scores: they are of variables at most so far apart in
            their order, 1 for a chain, whose Gibbs distribution is in reach at any n; 0 for all
            pairs.
        hidden: units of the hidden layers.
        prior: over the latent states: uniform; or learnt with the networks: factorised; gibbs,
            with a score for every pair of bits; or an autoregressive one: linear, made, with hidden
            layers, or transformer.
        prior_hidden: units of a hidden layer of the prior made, or flow of the model gaussian, 0
            for 400; or the size of the vectors of transformer, 0 for 64.
        prior_layers: hidden layers of made, 0 for 1; or layers of transformer, 0 for 2; or of flow,
            0 for 3.
        space: states that the n bits may take, by name: bits are all of them, a subset has exactly
            k ones, an assignment or matching has rows and columns, n being their product. The
            encoder of a space other than bits is independent.
        rows: of an assignment or matching; 0 for as many as columns.
        space_options: other arguments of the class of the space, whole numbers, such as
            k=3,least=1.
    """

    model: Literal["discrete"] = "discrete"
    encoder: str = named(ENCODERS, default="general")
    n: int = at_least(1, default=15)
    k: int = at_least(2, default=10)
    variables: int = at_least(1, default=1)
    couplings: Couplings = "none"
    bandwidth: int = at_least(0, default=0)
    hidden: int = at_least(1, default=300)
    prior: Prior = "uniform"
    prior_hidden: int = at_least(0, default=0)
    prior_layers: int = at_least(0, default=0)
    space: str = named((BITS,), SPACES, default=BITS)
    rows: int = at_least(0, default=0)
    space_options: str = ""

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        latent = f"{self.encoder}{self.latent}"
        if self.variables > 1:
            latent = f"{self.encoder}{self.variables}x{self.k}-{self.couplings}"
        if self.bandwidth:
            latent += f"-band{self.bandwidth}"
        latent += titled(self.options_of_encoder)
        if self.prior != "uniform":
            latent += f"-{self.prior}{self.prior_hidden or ''}-prior"
        if self.space != BITS:
            latent = f"{self._space_title}-of-{latent}"
        if self.posterior != GIBBS:
            latent += f"-{self.posterior}"
        trained = f"{self.estimator}-{self.solver}-{self.recipe}-seed{self.seed}"
        return f"{self._data_name}-{latent}-{trained}"

    @property
    def _space_title(self) -> str:
        """Return the name of the space in the name of a folder."""
        title = self.space
        if takes(self.space, "k"):
            title += str(self.k)
        return title + titled(read_options(self.space_options, "space_options"))

    @property
    def options_of_space(self) -> dict[str, int]:
        """Return the arguments of the class of the space."""
        options: dict[str, int] = {}
        if takes(self.space, "k"):
            options["k"] = self.k
        if self.rows:
            options["rows"] = self.rows
        return options | read_options(self.space_options, "space_options")

    @property
    def latent(self) -> int:
        """The number of bits, or of the categories of a variable."""
        if self._is_categorical:
            return self.k
        return self.n

    @property
    def encoder_name(self) -> str:
        """The name of the encoder in messages."""
        return self.encoder

    @classmethod
    def _read(cls, values: dict[str, Any]) -> Self:
        """Drop `k` for bits and `n` for categories, which older files hold without effect."""
        without_effect = "k"
        if _has_categories(values.get("encoder")):
            without_effect = "n"
        if takes(values.get("space", BITS), "k"):
            without_effect = ""
        return super()._read(
            {name: value for name, value in values.items() if name != without_effect}
        )

    @property
    def _is_categorical(self) -> bool:
        """Whether the latent variables have categories."""
        return _has_categories(self.encoder)

    @property
    def _has_pairs(self) -> bool:
        """Whether the latent variables have pairwise scores."""
        if self.encoder not in ENCODERS:
            return False
        return ENCODERS[self.encoder].has_pairs or self.couplings != "none"

    @property
    def _has_few_states(self) -> bool:
        """Whether there are at most 2^10 states."""
        if self._is_categorical:
            bits = self.variables * math.log2(self.k)
        else:
            bits = self.n
        return bits <= FEW_BITS

    @property
    def _first_epsilon(self) -> float:
        """The default of `epsilon.start`: 1 with the recipe paper, as in the paper."""
        if self.recipe == "paper":
            return 1.0
        return super()._first_epsilon

    def _complete(self) -> None:
        """Anneal codes of few states, and use one-sided direct optimization if there is time."""
        self._fill(recipe="elbo")
        if self.space != BITS and self.encoder == DiscreteConfig.encoder:
            object.__setattr__(self, "encoder", "independent")
        if self._is_whole and self._has_few_states:
            self._anneal()
        super()._complete()

    def _anneal(self) -> None:
        """Fill in the KL weight of codes of few states, and the sides of long trainings."""
        one_variable = self._is_categorical and self.variables == 1
        turns = self.epochs // 4
        if turns and self.kl_warmup is None:
            start = 10.0
            if one_variable:
                start = 30.0
            self._fill(kl_start=start)
        self._fill(kl_warmup=turns)
        if self.epochs >= LONG and not one_variable:
            self._fill(sides=1)

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from self._faults_of_variables()
        yield from self._faults_of_space()
        if self.bandwidth and not self._has_pairs:
            yield (
                f"bandwidth needs pairwise scores, and the encoder {self.encoder} has none; got "
                f"{self.bandwidth}"
            )
        yield from self._faults_of_prior()
        if self.posterior != GIBBS and (self._is_categorical or self.space != BITS):
            yield (
                f"the posterior {self.posterior} needs all states of bits, without categories or a "
                "space: leave posterior out"
            )

    def _faults_of_prior(self) -> Iterator[str]:
        """Yield what is wrong with the prior and its sizes."""
        if self.prior == "gibbs" and self._is_categorical:
            yield (
                "prior gibbs needs bits, and the encoder has categories: set prior to uniform, "
                "factorised, linear, made or transformer"
            )
        if self.prior == "factorised" and self.variables > 1:
            yield (
                "prior factorised takes one variable of categories: for several, set prior to "
                "linear, made or transformer"
            )
        if self.prior in AUTOREGRESSIVE and self.space != BITS:
            yield (
                f"prior {self.prior} covers all states of bits or categories, not the space "
                f"{self.space}: set prior to uniform or factorised"
            )
        yield from faults_of_prior_sizes(self, "prior", WITH_HIDDEN_LAYERS)
        if self.prior == "transformer" and self.prior_hidden % HEADS:
            yield (
                f"prior_hidden of a transformer must be a multiple of {HEADS}; got "
                f"{self.prior_hidden}"
            )

    def _faults_of_variables(self) -> Iterator[str]:
        """Yield what is wrong with the numbers of bits, variables and categories."""
        if self.variables > 1 and not self._is_categorical:
            yield (
                f"variables is an option of the encoder categorical; with {self.encoder}, set n; "
                f"got {self.variables}"
            )
        has_k = self._is_categorical or takes(self.space, "k")
        if self.k != DiscreteConfig.k and not has_k:
            yield (
                f"k is an option of the encoder categorical, and of spaces such as subset; with "
                f"{self.encoder}, set n, the number of bits; got {self.k}"
            )
        if self.n != DiscreteConfig.n and self._is_categorical:
            yield (
                "n is the number of bits; with the encoder categorical, set variables and k; got "
                f"{self.n}"
            )
        if self.couplings != "none" and self.variables == 1:
            yield (
                "couplings need several variables of the encoder categorical: set variables; got "
                f"{self.couplings}"
            )

    def _faults_of_space(self) -> Iterator[str]:
        """Yield what is wrong with the space of the states."""
        if self.space == BITS:
            if self.rows:
                yield f"rows is an option of the spaces assignment and matching; got {self.rows}"
            if self.space_options:
                yield f"space_options need a space other than bits; got {self.space_options}"
            return
        if self._is_categorical or self._has_pairs:
            yield (
                f"the space {self.space} has no scores of pairs, and no categories: leave encoder "
                f"out, or set it to independent; got {self.encoder}"
            )
        if self.solver != "auto":
            yield (
                f"states of the space {self.space} need no solver: leave solver out; got "
                f"{self.solver}"
            )
        if self.prior == "gibbs":
            yield f"prior gibbs has scores for pairs, and the space {self.space} has none"
        # The files of a model have the options of its encoder and of its space side by side.
        for name in sorted(set(self.options_of_encoder) & set(self.options_of_space)):
            yield (
                f"the encoder {self.encoder} and the space {self.space} both have an option {name}"
            )
        try:
            space = space_of_options(self.space, self.n, self.options_of_space)
        except ConfigError as error:
            yield str(error)
            return
        if self.prior == "factorised" and space is not None and not space.tractable:
            yield (
                f"prior factorised needs sums over the states of the space {self.space}, which are "
                "not known: set prior to uniform"
            )


def _has_categories(encoder: object) -> bool:
    """Return whether an encoder of this name has variables with categories."""
    return encoder in tuple(CATEGORICAL)


CONFIG: Final = DiscreteConfig
