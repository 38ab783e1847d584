"""Options of the kind `mixture`."""

from dataclasses import dataclass
from typing import Final, Literal

from ..config import LabelConfig, at_least

Styles = Literal["shared", "own"]


@dataclass(frozen=True, kw_only=True)
class MixtureConfig(LabelConfig):
    """One of k classes, with a style.

    Attributes:
        k: classes.
        styles: of the mixture: shared by all classes, or own, a distribution of the style for each
            class, as in the released code.
    """

    model: Literal["mixture"] = "mixture"
    k: int = at_least(2, default=10)
    styles: Styles = "shared"

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        styles = ""
        if self.styles == "own":
            styles = "-own-styles"
        latent = f"mixture{self.k}{styles}-{self.labels}labels"
        return f"{self._data_name}-{latent}-{self.estimator}-seed{self.seed}"


CONFIG: Final = MixtureConfig
