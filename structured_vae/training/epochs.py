"""What is set at the start of an epoch: learning rate, random numbers of layers, whether an evaluation follows."""

from __future__ import annotations

import lightning.pytorch as pl
import torch

from ..schedules import Schedule
from ..seeds import Stream, generator


class RateByEpoch(pl.Callback):
    """Sets the learning rate at the start of each epoch: no state that a resumed run would need.

    Args:
        rate: the learning rate, by the epoch.
    """

    def __init__(self, rate: Schedule):
        self.rate = rate

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Sets it in every group of parameters."""
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate(trainer.current_epoch)


class EvaluatedAtLast(pl.Callback):
    """Sees to it that the last epoch is evaluated, whatever the epochs between evaluations."""

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Asks for it."""
        if trainer.current_epoch + 1 == trainer.max_epochs:
            trainer.check_val_every_n_epoch = 1


class SeededEpochs(pl.Callback):
    """Seeds torch's global generator at the start of each epoch, by seed, epoch and process alone.

    Networks of ours do not use it; layers of one's own such as dropout do, and so draw in a resumed
    run what they draw in one that was not stopped.

    Args:
        seed: of the run.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Seeds it."""
        of_epoch = generator(
            self.seed, Stream.NETWORKS, trainer.current_epoch, part=trainer.global_rank
        )
        torch.manual_seed(of_epoch.initial_seed())
