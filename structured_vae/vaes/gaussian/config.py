"""Options of the kind `gaussian`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ..config import KLConfig, at_least, faults_of_prior_sizes

Prior = Literal["standard", "linear", "made", "flow"]

WITH_HIDDEN_LAYERS: Final = ("made", "flow")
"""The names of the priors with hidden layers, whose sizes are options."""


@dataclass(frozen=True, kw_only=True)
class GaussianConfig(KLConfig):
    """n continuous dimensions.

    Attributes:
        n: continuous dimensions.
        hidden: units of the hidden layers.
        prior: standard, the standard normal; or learnt with the networks: linear, a Gaussian with
            any covariance; made, an autoregressive mixture of Gaussians, with hidden layers; or
            flow, a masked autoregressive flow.
        prior_hidden: units of a hidden layer of the prior made or flow; 0 for 400.
        prior_layers: hidden layers of made, 0 for 1; or layers of flow, 0 for 3.
    """

    model: Literal["gaussian"] = "gaussian"
    n: int = at_least(1, default=15)
    hidden: int = at_least(1, default=300)
    prior: Prior = "standard"
    prior_hidden: int = at_least(0, default=0)
    prior_layers: int = at_least(0, default=0)

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        latent = f"gaussian{self.n}"
        if self.prior != "standard":
            latent += f"-{self.prior}{self.prior_hidden or ''}-prior"
        return f"{self._data_name}-{latent}-seed{self.seed}"

    def _complete(self) -> None:
        self._fill(rate_decay="cosine")
        if self.rate_decay == "cosine":
            self._fill(learning_rate=2e-3)
        super()._complete()

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from faults_of_prior_sizes(self, "prior", WITH_HIDDEN_LAYERS)


CONFIG: Final = GaussianConfig
