"""Callbacks at the start of an epoch: learning rate, seeds, and evaluation of the last epoch."""

from __future__ import annotations

import lightning.pytorch as pl
import torch

from ..schedules import Schedule
from ..seeds import Stream, generator
from .between_steps import BetweenSteps


class RateByEpoch(BetweenSteps):
    """A callback that sets the learning rate at the start of each epoch.

    It has no state that a resumed run would need.

    Args:
        rate: the learning rate, by the epoch.
    """

    def __init__(self, rate: Schedule):
        self.rate = rate

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Set the learning rate in every group of parameters."""
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate(trainer.current_epoch)


class EvaluatedAtLast(BetweenSteps):
    """A callback that evaluates the last epoch, whatever the interval between evaluations."""

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Ask for an evaluation in the last epoch."""
        if trainer.current_epoch + 1 == trainer.max_epochs:
            trainer.check_val_every_n_epoch = 1


class SeededEpochs(BetweenSteps):
    """A callback that seeds the global generator of torch at the start of each epoch.

    The seed depends only on the seed of the run, epoch and process. The networks of this package do
    not use that generator. Layers of custom networks do, such as dropout, and so draw the same in a
    resumed run as in an uninterrupted one.

    Args:
        seed: seed of the run.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Seed the global generator."""
        of_epoch = generator(
            self.seed, Stream.NETWORKS, trainer.current_epoch, index=trainer.global_rank
        )
        torch.manual_seed(of_epoch.initial_seed())
