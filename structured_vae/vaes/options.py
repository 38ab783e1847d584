"""Convert the options that all kinds share into those of a training."""

from __future__ import annotations

from ..schedules import Constant, CosineDecay, Schedule
from ..training.base import TrainingOptions
from .config import Decay, TrainConfig, known


def by_epoch(start: float, decay: Decay, epochs: int) -> Schedule:
    """Return a schedule with this start and this decay over all epochs."""
    if decay == "cosine":
        return CosineDecay(start, epochs)
    return Constant(start)


def training_options(config: TrainConfig) -> TrainingOptions:
    """Return learning rate, seed and dropout of a configuration."""
    dropout = None
    if config.dropout:
        dropout = by_epoch(config.dropout, config.dropout_decay, config.epochs)
    return TrainingOptions(known(config.learning_rate), config.seed, dropout)
