"""Options of a training that uses the labels of some images."""

from collections.abc import Iterator
from dataclasses import dataclass

from .gradient import EstimatorConfig
from .values import at_least


@dataclass(frozen=True, kw_only=True)
class LabelConfig(EstimatorConfig):
    """A semi-supervised training.

    Attributes:
        labels: number of training images with labels: the same number per class, or images with
            their attributes; 0 for none.
        label_weight: weight of the loss of labelled images, in nats per image.
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
