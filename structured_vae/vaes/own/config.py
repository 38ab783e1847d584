"""Options of the kind `own`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ..config import RecipeConfig


@dataclass(frozen=True, kw_only=True)
class OwnConfig(RecipeConfig):
    """Discrete latent variables with custom networks, which the caller passes from Python."""

    model: Literal["own"] = "own"

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        trained = f"{self.estimator}-{self.solver}-{self.recipe}-seed{self.seed}"
        return f"{self._data_name}-own-{trained}"

    @property
    def from_python(self) -> tuple[str, ...]:
        """The names of what a caller passes: "model", and "estimator" if it is custom."""
        return ("model", *super().from_python)

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if self.precision != "32-true":
            yield (
                "precision bf16-mixed needs the layers of this package; with custom networks, set "
                "precision to 32-true"
            )


CONFIG: Final = OwnConfig
