"""What the training of every model shares, for Lightning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import lightning.pytorch as pl
import torch

from solvers import ProblemError

from ..errors import DivergedError
from ..schedules import Schedule
from ..seeds import Stream, generator

SPLITS = ("validation", "test")
"""In the order of `ImageData.val_dataloader`."""

COST_NAME = "training cost"
"""Of the progress bar: what a training step minimises in place of the bound. It is no bound."""

BOUND_NAME = "validation bound"
"""Of the progress bar: an upper bound on -log p(x), which every model has. Test images are not shown."""

SHOWN_EVERY = 20
"""Steps between updates of the progress bar's cost; each costs as much as a small solve."""


@dataclass(frozen=True)
class TrainingOptions:
    """What every model is trained with.

    Attributes:
        learning_rate: of Adam.
        seed: of the noise.
        dropout: share of the pixels that are hidden from the encoder in a step, the others scaled
            up, by the epoch; or None. The decoder has to explain them all, so the objective stays a
            bound.
    """

    learning_rate: float
    seed: int
    dropout: Schedule | None = None


class Training(pl.LightningModule, ABC):
    """What the training of every model shares: one Adam, noise by seed and epoch, metrics of each epoch.

    The released code has two Adams with the same rate; Adam works on each parameter alone, so one
    is the same. Noise depends on seed, epoch and process alone, so a run resumed at an epoch's end
    draws what the uninterrupted run draws.

    Args:
        options: learning rate, seed and dropout.
    """

    def __init__(self, options: TrainingOptions):
        super().__init__()
        self.options = options
        self._evaluated: dict[str, list[dict[str, torch.Tensor]]] = {}
        self._trained: dict[str, list[torch.Tensor]] = {}

    @property
    @abstractmethod
    def monitored(self) -> str:
        """The metric that the best epoch is chosen by; the lowest value is the best."""

    @abstractmethod
    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """`[count, pixels]`: the mean images of states drawn for images `x [count, pixels]`."""

    @abstractmethod
    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Mean images of states of the prior, and how many make a row of the picture."""

    @abstractmethod
    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss whose gradient is the estimate, and what is logged of it: `cost` at least."""

    @abstractmethod
    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        """`[batch]` each: what is measured of images."""

    @abstractmethod
    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        """The metrics of a split, from the columns of its batches."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam over all parameters."""
        return torch.optim.Adam(self.parameters(), lr=self.options.learning_rate, fused=True)

    def on_train_epoch_start(self) -> None:
        """Starts the epoch's noise and averages."""
        self._trained = {}
        self._noise = generator(
            self.options.seed, Stream.NOISE, self.current_epoch, self.device, self.global_rank
        )

    def training_step(self, batch: tuple[torch.Tensor, ...], batch_idx: int) -> torch.Tensor:
        """The loss of a batch, shown now and then."""
        loss = self.loss(*batch)
        if batch_idx % SHOWN_EVERY == 0:
            self.log(COST_NAME, self._trained["cost"][-1], prog_bar=True, logger=False)
        return loss

    def loss(self, *batch: torch.Tensor) -> torch.Tensor:
        """What has the estimate of the objective's gradient as its own, for the tensors of a batch."""
        with self._naming_divergence():
            loss, stats = self._loss(*batch)
        for name, value in stats.items():
            self._trained.setdefault(name, []).append(value)
        return loss

    def on_train_epoch_end(self) -> None:
        """Refuses to go on, and to keep a checkpoint, where the epoch has left the finite numbers.

        Raises:
            DivergedError: a cost is not finite.
        """
        self._refuse_divergence()

    def on_validation_epoch_start(self) -> None:
        """Starts the same noise for every evaluation, so that epochs compare.

        Raises:
            DivergedError: as at the end of the epoch, before anything is measured.
        """
        self._refuse_divergence()
        self._noise_of_evaluation = generator(self.options.seed, Stream.EVALUATION, 0, self.device)
        self._evaluated = {split: [] for split in SPLITS}

    def validation_step(
        self, batch: tuple[torch.Tensor, ...], batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Measures a batch of validation or test images."""
        with self._naming_divergence():
            self._evaluated[SPLITS[dataloader_idx]].append(self._columns(*batch))

    def on_validation_epoch_end(self) -> None:
        """Logs the metrics of each split, and the averages of the training epoch."""
        trained = {
            f"train/{name}": torch.stack(all_).mean() for name, all_ in self._trained.items()
        }
        self.log_dict(trained, sync_dist=True)
        for split, batches in self._evaluated.items():
            summary = self._summary(batches)
            self.log_dict(
                {f"{split}/{name}": value for name, value in summary.items()}, sync_dist=True
            )
            if split == "validation":
                self.log(BOUND_NAME, summary["bound"], prog_bar=True, logger=False, sync_dist=True)
        self._evaluated = {}

    def _refuse_divergence(self) -> None:
        """Asked once an epoch, since a device has to be waited for."""
        costs = self._trained.get("cost")
        if costs and not torch.stack(costs).isfinite().all():
            raise self._diverged("a cost is not finite")

    @contextmanager
    def _naming_divergence(self) -> Iterator[None]:
        """Inside it, scores that are no problem are a divergence: nothing else can be wrong with them."""
        try:
            yield
        except ProblemError as error:
            raise self._diverged(f"of the scores that the encoder gives, {error}") from error

    def _diverged(self, what: str) -> DivergedError:
        rate = self.options.learning_rate
        return DivergedError(
            f"training diverged in epoch {self.current_epoch + 1}, step {self.global_step}: {what}. Lower the learning "
            f"rate, which is {rate:g}: --learning_rate {rate / 10:g}. Checkpoints are from earlier epochs"
        )

    def _seen(self, x: torch.Tensor) -> torch.Tensor:
        """What the encoder sees of images in a step."""
        if self.options.dropout is None:
            return x
        kept = 1 - self.options.dropout(self.current_epoch)
        uniform = torch.rand(x.shape, generator=self._noise, device=x.device, dtype=x.dtype)
        return x * (uniform < kept) / kept
