"""What a task of decisions consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

SAMPLES = 3
"""Noise draws of a perturbed method, here and in PyEPO."""


@dataclass(frozen=True)
class Data:
    """Features with the costs that a network should predict, and the decisions that are allowed.

    Attributes:
        features: `[count, ...]`.
        costs: `[count, n]`, the true costs, or values where a task maximises.
        space: the structure whose states are the decisions.
        model: makes PyEPO's model of the same decisions; None where PyEPO has none.
        decide: gives the decisions `[count, n]` of scores in the test; None for `space.argmax`.
    """

    features: torch.Tensor
    costs: torch.Tensor
    space: Any
    model: Callable[[], Any] | None = None
    decide: Callable[[torch.Tensor], torch.Tensor] | None = None

    def decisions(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the decisions `[count, n]` of highest score in the test."""
        if self.decide is None:
            decided: torch.Tensor = self.space.argmax(scores)
            return decided
        return self.decide(scores)


@dataclass(frozen=True)
class Task:
    """A task, at one or several degrees of its costs.

    Attributes:
        sign: 1 where values are maximised, -1 where costs are minimised.
        data: makes data from their number, the degree and the seed.
        network: makes an untrained network of some data.
        degrees: degrees of the polynomial behind the costs; (1,) where there is none.
        train: number of training instances.
        held_out: number of test instances.
        epochs: passes through the training instances.
        rates: learning rates from which validation data choose.
        without: names of our methods that take too long here, or do not exist for the structure.
    """

    sign: float
    data: Callable[[int, int, int], Data]
    network: Callable[[Data], nn.Module]
    degrees: Sequence[int] = (1,)
    train: int = 300
    held_out: int = 300
    epochs: int = 4
    rates: Sequence[float] = (0.03, 0.1, 0.3)
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Batch:
    """Predictions for some training instances.

    Attributes:
        rows: `[batch]`, their places among the training instances.
        scores: `[batch, n]`, the predictions, with the sign that makes the best decision a maximum.
        values: `[batch, n]`, the true costs with that sign.
        best: `[batch, n]`, the best decisions under the true costs.
        noise: the source of noise.
    """

    rows: torch.Tensor
    scores: torch.Tensor
    values: torch.Tensor
    best: torch.Tensor
    noise: torch.Generator


Loss = Callable[[Batch], torch.Tensor]
"""The mean loss of a batch."""


@dataclass(frozen=True)
class Training:
    """The training instances of some data, with what losses need of them.

    Attributes:
        data: all instances; the first `count` are for training.
        sign: as in the task.
        count: number of training instances.
    """

    data: Data
    sign: float
    count: int

    @cached_property
    def best(self) -> torch.Tensor:
        """The best decisions `[count, n]`, as states of the structure."""
        best: torch.Tensor = self.data.space.argmax(self.sign * self.data.costs[: self.count])
        return best

    @cached_property
    def model(self) -> Any:
        """PyEPO's model."""
        assert self.data.model is not None
        return self.data.model()

    @cached_property
    def dataset(self) -> Any:
        """PyEPO's dataset, whose best decisions come from PyEPO's solver."""
        from pyepo.data.dataset import optDataset

        features = self.data.features[: self.count].numpy()
        return optDataset(self.model, features, self.data.costs[: self.count].numpy())


def linear(data: Data) -> nn.Module:
    """Return a linear model from features to costs."""
    return nn.Linear(data.features.shape[1], data.costs.shape[1])
