"""What is set at the start of an epoch: the learning rate, and whether an evaluation follows."""

from __future__ import annotations

import lightning.pytorch as pl

from ..schedules import Schedule


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
