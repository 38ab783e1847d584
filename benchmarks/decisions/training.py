"""Train a network by a loss, and measure the regret of its decisions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

from .task import Batch, Loss, Task, Training

BATCH = 32
SELECTION_SEED = 100

Method = Callable[[Training], Loss]


@dataclass(frozen=True)
class Prepared:
    """The data of a task at one degree and seed, for all methods."""

    task: Task
    degree: int
    seed: int

    @cached_property
    def training(self) -> Training:
        """The training instances."""
        count = self.task.train + self.task.held_out
        data = self.task.data(count, self.degree, self.seed)
        return Training(data, self.task.sign, self.task.train)

    @cached_property
    def best_values(self) -> torch.Tensor:
        """The values `[held_out]` of the best decisions of the test instances."""
        values = self.values[self.task.train :]
        best = self.training.data.decisions(values)
        return (values * best).sum(dim=1)

    @property
    def values(self) -> torch.Tensor:
        """The true costs `[count, n]` of all instances, with the sign of scores."""
        return self.task.sign * self.training.data.costs


def trained(
    method: Method, rate: float, prepared: Prepared, epochs: int
) -> tuple[nn.Module, float]:
    """Return a network and the CPU seconds of its training."""
    training = prepared.training
    torch.manual_seed(prepared.seed)
    net = prepared.task.network(training.data)
    adam = torch.optim.Adam(net.parameters(), lr=rate)
    noise = torch.Generator().manual_seed(prepared.seed)
    loss = method(training)
    best = training.best
    start = time.process_time()
    for _ in range(epochs):
        for rows in torch.randperm(training.count).split(BATCH):
            scores = prepared.task.sign * net(training.data.features[rows])
            batch = Batch(rows, scores, prepared.values[rows], best[rows], noise)
            adam.zero_grad()
            loss(batch).backward()
            adam.step()
    return net, time.process_time() - start


@torch.no_grad()
def regret(net: nn.Module, prepared: Prepared) -> tuple[float, float]:
    """Return the relative regret on test data, and the share of decisions that are best."""
    first = prepared.task.train
    training = prepared.training
    scores = prepared.task.sign * net(training.data.features[first:])
    chosen = training.data.decisions(scores)
    values = (prepared.values[first:] * chosen).sum(dim=1)
    excess = prepared.best_values - values
    exact = excess <= 1e-5 * prepared.best_values.abs()
    total = excess.sum() / prepared.best_values.abs().sum()
    return total.item(), exact.float().mean().item()


def compared(
    name: str, method: Method, selection: Prepared, tests: Mapping[int, Prepared], epochs: int
) -> dict[str, Any]:
    """Return the learning rate of least regret on one seed, and its regret on the others."""
    tried = {}
    for rate in selection.task.rates:
        net, _ = trained(method, rate, selection, epochs)
        tried[rate] = regret(net, selection)[0]
    rate = min(tried, key=lambda rate: tried[rate])
    row: dict[str, Any] = {
        "method": name,
        "degree": selection.degree,
        "rate": rate,
        "validation": tried,
        "regret": [],
        "best_decisions": [],
        "seconds": [],
    }
    for prepared in tests.values():
        net, seconds = trained(method, rate, prepared, epochs)
        excess, exact = regret(net, prepared)
        row["regret"].append(excess)
        row["best_decisions"].append(exact)
        row["seconds"].append(seconds)
    return row
