"""Options of the kind `toy`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class ToyConfig(TrainConfig):
    """Pixels that are independent of each other.

    Attributes:
        brightness: probability of every pixel before the training.
    """

    model: Literal["toy"] = "toy"
    brightness: float = 0.5

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not 0 < self.brightness < 1:
            yield f"brightness must be between 0 and 1; got {self.brightness}"


CONFIG = ToyConfig
