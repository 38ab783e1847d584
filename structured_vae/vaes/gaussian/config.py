"""Options of the kind `gaussian`."""

from dataclasses import dataclass
from typing import Final, Literal

from ..config import KLConfig, at_least


@dataclass(frozen=True, kw_only=True)
class GaussianConfig(KLConfig):
    """n continuous dimensions.

    Attributes:
        n: continuous dimensions.
        hidden: units of the hidden layers.
    """

    model: Literal["gaussian"] = "gaussian"
    n: int = at_least(1, default=15)
    hidden: int = at_least(1, default=300)

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        return f"{self._data_name}-gaussian{self.n}-seed{self.seed}"

    def _complete(self) -> None:
        self._fill(rate_decay="cosine")
        if self.rate_decay == "cosine":
            self._fill(learning_rate=2e-3)
        super()._complete()


CONFIG: Final = GaussianConfig
