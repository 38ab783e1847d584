"""The size of the step that direct optimization takes in the scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import torch
from torch import nn

from models.arguments import number, one_of, positive_number
from models.potentials import AnyPotentials

from ...autograd.transforms import refuse_transforms
from ...errors import EstimatorError
from ...schedules import Constant, ExponentialDecay, Schedule, as_schedule

SIZE = 1.0
"""The size of a relative step, chosen on validation images of `benchmarks/losses.py`."""

EMPTY_OCTAVES: Final = 2
"""Fewest octaves without a gap below the gaps of variables that are out of reach."""

CERTAIN: Final = 20
"""Least product of empty octaves and gaps below them.

Uniform gaps leave these octaves empty with a probability of 2^-20.
"""

MANY: Final = 1 << 15
"""Most gaps whose octaves are counted; a large batch is represented by some of its gaps."""

SHARE: Final = 50
"""At least one gap in so many is typical, so that a few rounded ties do not set the scale."""

By: TypeAlias = Literal["batch", "instance"]
"""Whether epsilon is one number for the batch, or one for each instance."""

Step: TypeAlias = torch.Tensor | float
"""An epsilon, a positive number."""


class Epsilon(nn.Module, ABC):
    """The epsilon of a training step."""

    by_instance: bool = False
    """Whether each instance has its own epsilon, `[..., batch, 1]`, of its scores and slope alone.

    The gradient of a batch is then the sum of those of its instances, as for gradient accumulation.
    """

    @abstractmethod
    def forward(self, step: int, slope: torch.Tensor) -> Step:
        """Return epsilon, positive.

        Args:
            step: the training step.
            slope: `[..., n]`, the changes of the cost that epsilon multiplies.
        """

    def at(
        self, step: int, slope: torch.Tensor, potentials: AnyPotentials, z: torch.Tensor
    ) -> Step:
        """Return epsilon for these scores and their argmax; by default that of `forward`.

        Args:
            step: the training step.
            slope: `[..., n]`, the changes of the cost that epsilon multiplies.
            potentials: the scores.
            z: `[..., n]`, their argmax.
        """
        del potentials, z
        return self(step, slope)

    if TYPE_CHECKING:

        def __call__(self, step: int, slope: torch.Tensor) -> Step:
            """Return epsilon as `forward` does, typed."""

    def observe(self, changed: torch.Tensor) -> None:
        """Take note of the share of the batch whose argmax moved."""
        del changed


def as_epsilon(epsilon: Schedule | Epsilon | float | None) -> Epsilon:
    """Return a schedule or a number as an `Epsilon`; 0.1 for None.

    Raises:
        ConfigError: `epsilon` is neither.
    """
    if isinstance(epsilon, Epsilon):
        return epsilon
    if epsilon is None:
        return Scheduled(ExponentialDecay(start=0.1))
    return Scheduled(as_schedule(epsilon, "epsilon"))


class Scheduled(Epsilon):
    """An epsilon that follows a schedule, in scores per nat.

    Args:
        schedule: gives epsilon for the training step. A number stands for a constant.

    Raises:
        ConfigError: `schedule` is neither a positive number nor a schedule.
    """

    def __init__(self, schedule: Schedule | float):
        super().__init__()
        self.schedule = as_schedule(schedule, "schedule")

    def __repr__(self) -> str:
        if isinstance(self.schedule, Constant):
            return f"{self.schedule.value:g}"
        return f"Scheduled({self.schedule!r})"

    def forward(self, step: int, slope: torch.Tensor) -> float:
        """Return the scheduled value."""
        return self.schedule(step)


class ScaleFree(Epsilon):
    """An epsilon in units of the cost: a schedule divided by the mean absolute slope of a batch.

    The second argmax is then the same if all costs are multiplied, so one schedule serves data of
    any size, and losses that are sums or means.

    Args:
        schedule: gives the size for the training step; 1 moves scores by 1 on average. A number
            stands for a constant.
        by: "batch" for the mean slope of the batch, or "instance" for that of each instance.

    Raises:
        EstimatorError: `by` has another value.
        ConfigError: the schedule is neither a schedule nor a positive number.
    """

    def __init__(self, schedule: Schedule | float, by: By = "batch"):
        super().__init__()
        self.schedule = as_schedule(schedule, "schedule")
        self.by_instance = _is_by_instance(by)

    def __repr__(self) -> str:
        if isinstance(self.schedule, Constant):
            return f"ScaleFree({self.schedule.value:g}{_named(self.by_instance)})"
        return f"ScaleFree({self.schedule!r}{_named(self.by_instance)})"

    def forward(self, step: int, slope: torch.Tensor) -> torch.Tensor:
        """Return the scheduled value over the mean absolute slope."""
        sizes = slope.abs()
        if self.by_instance:
            mean = sizes.mean(dim=-1, keepdim=True)
        else:
            mean = sizes.mean()
        return self.schedule(step) / mean.clamp(min=torch.finfo(slope.dtype).tiny)


class Adaptive(Epsilon):
    """An epsilon that keeps the share of images whose argmax moves near a target.

    After every draw log epsilon grows by rate * (target - share), so neither zeros nor saturation
    can take over. The state is a buffer: it is saved and resumed with the network.

    Args:
        start: the first value.
        target: the share, in (0, 1).
        rate: the rate at which log epsilon changes.

    Raises:
        EstimatorError: an argument is outside its range.

    References:
        Minervini, Franceschi, Niepert (2023), Adaptive perturbation-based gradient estimation for
        discrete latent variable models: the same idea for implicit MLE.
    """

    log_epsilon: torch.Tensor

    def __init__(self, start: float = 0.1, target: float = 0.5, rate: float = 0.01):
        super().__init__()
        start = positive_number(start, "start", EstimatorError)
        between = "a number between 0 and 1"
        target = number(target, "target", EstimatorError, between, lambda share: 0 < share < 1)
        rate = positive_number(rate, "rate", EstimatorError)
        self.target = target
        self.rate = rate
        self.register_buffer("log_epsilon", torch.tensor(start).log())

    def forward(self, step: int, slope: torch.Tensor) -> torch.Tensor:
        """Return the current value."""
        return self.log_epsilon.exp()

    def observe(self, changed: torch.Tensor) -> None:
        """Move epsilon towards the target, in training.

        Raises:
            EstimatorError: the call is inside of `torch.func`.
        """
        if self.training:
            refuse_transforms(
                "an adaptive epsilon",
                "call eval(), or take a fixed epsilon",
                "changes in each call",
            )
            self.log_epsilon += self.rate * (self.target - changed)


class Relative(Epsilon):
    """An epsilon just large enough to flip a typical variable, measured again in every step.

        epsilon = size * typical gap / mean absolute slope

    Neither scale then matters. The gap of a variable is the amount by which its flip alone lowers
    the score. Its slope is the change of the cost that epsilon multiplies. A variable flips where
    epsilon times its absolute slope exceeds its gap. So at a size of 1 a variable with a typical
    gap and a mean slope is about to flip.

    Both are means over numbers that are not zero. The typical gap leaves out gaps far above all
    others, which belong to variables whose scores are filled with -1e4 or -1e9 so that they stay 0.
    Their flips are out of reach. A mean over them would make epsilon as large as the fill, and the
    gradients of all other variables as small as its inverse. A gap is far above all others where
    two or more empty octaves (powers of two) separate it from them, and chance leaves so many
    octaves empty once in a million times, given the number of gaps below. At least one gap in 50 is
    below.

    By default the means are those of the batch, so that the gradient of a batch is not the sum of
    those of its parts. With `by="instance"` it is: each instance has an epsilon of its own, with
    the median of its gaps that are not zero as the typical one.

    Args:
        size: positive and finite.
        by: "batch" or "instance".

    Raises:
        EstimatorError: `size` is not positive and finite, or `by` has another value.

    Example:
        >>> from models import Potentials
        >>> unary = torch.tensor([[3.0, -1.0]])
        >>> Relative(1.0).at(0, torch.tensor([[0.5, 0.0]]), Potentials(unary), (unary > 0).float())
        tensor(4., dtype=torch.float64)
    """

    def __init__(self, size: float = SIZE, by: By = "batch"):
        super().__init__()
        self.by_instance = _is_by_instance(by)
        self.size = positive_number(size, "size", EstimatorError)

    def __repr__(self) -> str:
        return f"Relative({self.size:g}{_named(self.by_instance)})"

    def forward(self, step: int, slope: torch.Tensor) -> torch.Tensor:
        """Return epsilon for gaps of 1, where there are no scores."""
        if self.by_instance:
            return self.size / _mean_sizes(slope)
        return self.size / _mean_size(slope)

    def at(
        self, step: int, slope: torch.Tensor, potentials: AnyPotentials, z: torch.Tensor
    ) -> torch.Tensor:
        """Return epsilon for the gaps of these scores at z."""
        if self.by_instance:
            return self.size * _median_gaps(potentials, z) / _mean_sizes(slope)
        return self.size * _typical_gap(potentials, z) / _mean_size(slope)


def _is_by_instance(by: object) -> bool:
    """Return whether epsilon belongs to an instance instead of the batch.

    Raises:
        EstimatorError: `by` is neither "batch" nor "instance".
    """
    return one_of(by, "by", EstimatorError, ("batch", "instance")) == "instance"


def _named(by_instance: bool) -> str:
    if by_instance:
        return ", by='instance'"
    return ""


def _mean_sizes(values: torch.Tensor) -> torch.Tensor:
    """Return the mean absolute value of the nonzero entries of each row `[..., 1]`; 1 if none."""
    sizes = values.detach().abs().double()
    count = (sizes > 0).sum(dim=-1, keepdim=True)
    total = sizes.sum(dim=-1, keepdim=True)
    return torch.where(count > 0, total / count.clamp(min=1), 1.0)


def _median_gaps(potentials: AnyPotentials, z: torch.Tensor) -> torch.Tensor:
    """Return the median of the nonzero gaps of each instance `[..., batch, 1]`; 1 if none."""
    sizes = potentials.flips(z).detach().abs().double()
    gaps = sizes.masked_fill(sizes == 0, torch.nan)
    return gaps.nanmedian(dim=-1, keepdim=True).values.nan_to_num(nan=1.0)


def _mean_size(values: torch.Tensor) -> torch.Tensor:
    """Return the mean absolute value of the nonzero entries; 1 if all are zero."""
    sizes = values.detach().abs().double()
    count = (sizes > 0).sum()
    return torch.where(count > 0, sizes.sum() / count.clamp(min=1), 1.0)


def _typical_gap(potentials: AnyPotentials, z: torch.Tensor) -> torch.Tensor:
    """Return the mean nonzero gap without gaps far above all others; 1 if all are zero."""
    sizes = potentials.flips(z).detach().abs().double()
    # A sample is enough for the histogram, and keeps its cost small for large batches.
    some = sizes.flatten()[:: max(1, sizes.numel() // MANY)]
    octaves = some[some > 0].frexp().exponent
    if not len(octaves):
        return _mean_size(sizes)
    lowest = octaves.min()
    counts = (octaves - lowest).bincount().tolist()
    highest = _highest_octave(counts)
    if highest < len(counts) - 1:
        sizes = torch.where(sizes < torch.exp2((lowest + highest).double()), sizes, 0.0)
    return sizes.sum() / (sizes > 0).sum()


def _highest_octave(counts: list[int]) -> int:
    """Return the place in `counts`, numbers of gaps by octave, below which gaps are typical."""
    total = sum(counts)
    below = 0  # gaps in lower octaves
    empty = 0  # empty octaves right below this one
    for place, count in enumerate(counts):
        if count and empty >= EMPTY_OCTAVES and empty * below >= CERTAIN and below * SHARE >= total:
            return place - empty - 1
        if count:
            empty = 0
        else:
            empty += 1
        below += count
    return len(counts) - 1
