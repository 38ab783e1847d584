"""The base class of estimators whose only argument is a number of samples."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

from models.arguments import whole_number

from ..errors import EstimatorError
from .estimator import Estimator
from .options import EstimatorOptions


class Sampled(Estimator, ABC):
    """An estimator that draws a number of samples for each image.

    Args:
        samples: number of samples per image; None for `usual_samples`.

    Raises:
        EstimatorError: `samples` is not a whole number of at least `least`.

    Attributes:
        least: the smallest number of samples.
    """

    least: ClassVar[int] = 1

    def __init__(self, samples: int | None = None):
        super().__init__()
        if samples is None:
            samples = self.usual_samples
        samples = whole_number(samples, "samples", EstimatorError, self.least)
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)
