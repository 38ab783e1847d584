"""Options of a training that sees the labels of some images."""

from collections.abc import Iterator
from dataclasses import dataclass

from .gradient import EstimatorConfig
from .values import at_least


@dataclass(frozen=True, kw_only=True)
class LabelConfig(EstimatorConfig):
    """A semi-supervised training.

    Attributes:
        labels: training images whose classes, as many of each, or attributes the model sees; 0 for
            none.
        label_weight: of their loss beside the bound, in nats an image.
    """

    labels: int = at_least(0, default=0)
    label_weight: float = 30.0

    def _complete(self) -> None:
        self._fill(dropout=0.2)
        super()._complete()

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not self.label_weight > 0:
            yield f"label_weight must be positive; got {self.label_weight}"
