"""The base class of the training of every model, for Lightning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import lightning.pytorch as pl
import torch

from models.errors import NetworkError
from solvers import ProblemError

from ..errors import DivergedError
from ..schedules import Schedule
from ..seeds import Stream, generator
from .gradient_flow import Networks, check_gradients, check_reached, warn_of_frozen
from .graphed_step import Constants, GraphedStep

SPLITS = ("validation", "test")
"""The evaluated splits, in the order of `ImageData.val_dataloader`."""

COST_NAME = "training cost"
"""The name in the progress bar of the cost that a training step minimises. It is not a bound."""

BOUND_NAME = "validation bound"
"""The name in the progress bar of the upper bound on -log p(x) of validation images."""

SHOWN_EVERY = 20
"""Steps between updates of the progress bar's cost; each costs as much as a small solve."""


@dataclass(frozen=True)
class TrainingOptions:
    """The options with which every model is trained.

    Attributes:
        learning_rate: learning rate of Adam.
        seed: seed of the noise.
        dropout: share of the pixels that are hidden from the encoder in a step, by the epoch; the
            others are scaled up. None for no dropout. The decoder has to explain all pixels, so
            the objective is still a bound.
    """

    learning_rate: float
    seed: int
    dropout: Schedule | None = None


class Training(pl.LightningModule, ABC):
    """The base class of the training of every model.

    It has one Adam optimiser, and metrics of each epoch. The released code has two Adams with the
    same rate. Adam treats each parameter separately, so one is equivalent. Noise depends only on
    seed, epoch and process, so a run resumed at the end of an epoch draws the same noise as an
    uninterrupted run.

    Args:
        options: learning rate, seed and dropout.
    """

    _noise: torch.Generator

    def __init__(self, options: TrainingOptions):
        super().__init__()
        self.options = options
        self._evaluated: dict[str, list[dict[str, torch.Tensor]]] = {}
        self._trained: dict[str, list[torch.Tensor]] = {}
        self._gradients_are_checked = False
        self._may_be_recorded = False
        self._graphed: GraphedStep | None = None
        self._was_replayed = False

    @property
    def custom_networks(self) -> Networks:
        """The networks of a caller, which may not learn; empty if the library makes them."""
        return {}

    @property
    @abstractmethod
    def monitored(self) -> str:
        """The metric that chooses the best epoch, by its lowest value."""

    @abstractmethod
    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return mean images `[count, pixels]` of states drawn for images `x [count, pixels]`."""

    @abstractmethod
    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return mean images of states of the prior, and how many make a row of the picture."""

    @abstractmethod
    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the loss whose gradient is the estimate, and values to log, such as `cost`."""

    @abstractmethod
    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the measured values of images by name, `[batch]` each."""

    @abstractmethod
    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        """Return the metrics of a split, from the columns of its batches."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam over all parameters.

        Raises:
            models.errors.NetworkError: there are none.
        """
        parameters = list(self.parameters())
        if not parameters:
            raise NetworkError("encoder and decoder have no parameters, so nothing can be learnt")
        return torch.optim.Adam(parameters, lr=self.options.learning_rate, fused=True)

    def _constants(self) -> Constants | None:
        """Return the numbers that Python puts into this step; None if a graph may not repeat it."""
        return None

    def record_steps(self) -> None:
        """Let a GPU repeat the training steps by itself, where this is possible.

        Call it only if encoder, decoder and estimator are those of this library: a graph does not
        repeat what custom code does in Python.
        """
        self._may_be_recorded = True

    def on_train_start(self) -> None:
        """Warn of networks that are frozen."""
        warn_of_frozen(self.custom_networks)

    def on_after_backward(self) -> None:
        """Check in the first step that the networks get gradients.

        Raises:
            models.errors.NetworkError: a network that should learn gets none.
        """
        if not self._gradients_are_checked:
            check_gradients(self.custom_networks)
            self._gradients_are_checked = True

    def on_train_epoch_start(self) -> None:
        """Start the noise and the averages of the epoch."""
        self._trained = {}
        noise = generator(
            self.options.seed, Stream.NOISE, self.current_epoch, self.device, self.global_rank
        )
        if self._graphed is not None:
            # A graph draws from the generator that it was recorded with.
            self._noise.manual_seed(noise.initial_seed())
            return
        self._noise = noise
        if self._may_be_recorded and self.device.type == "cuda" and self.trainer.world_size == 1:
            self._graphed = GraphedStep(self._loss, self, noise)

    def training_step(self, batch: tuple[torch.Tensor, ...], batch_idx: int) -> torch.Tensor:
        """Return the loss of a batch, and show it every few steps where there is a progress bar."""
        replayed = self._replayed(batch)
        self._was_replayed = replayed is not None
        if replayed is not None:
            loss = replayed
        else:
            loss = self.loss(*batch)
        trainer = self._trainer  # None where a step is called by itself
        shown = trainer is not None and trainer.progress_bar_callback is not None
        if shown and batch_idx % SHOWN_EVERY == 0:
            self.log(COST_NAME, self._trained["cost"][-1], prog_bar=True, logger=False)
        return loss

    def _replayed(self, batch: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """Return the loss of a step that a graph repeats, which has also put the gradients."""
        if self._graphed is None:
            return None
        constants = self._constants()
        if constants is None:
            return None
        with self._naming_divergence():
            replayed = self._graphed(batch, constants)
        if replayed is None:
            # A recording that fails leaves its generator unusable.
            self._noise = torch.Generator(self.device).set_state(self._noise.get_state())
            self._graphed = None
            self._may_be_recorded = False
            return None
        loss, stats = replayed
        self._note(stats)
        return loss

    def optimizer_zero_grad(
        self, epoch: int, batch_idx: int, optimizer: torch.optim.Optimizer
    ) -> None:
        """Delete the gradients of the last step, unless a graph has put those of this one."""
        if not self._was_replayed:
            optimizer.zero_grad()

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the gradients, unless a graph has put them already."""
        if not self._was_replayed:
            torch.autograd.backward(loss)

    def loss(self, *batch: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch, whose gradient estimates that of the objective.

        Raises:
            DivergedError: the encoder gives scores that no solver accepts.
            models.errors.NetworkError: the loss depends on no parameter.
        """
        with self._naming_divergence():
            loss, stats = self._loss(*batch)
        check_reached(loss)
        self._note(stats)
        return loss

    def _note(self, stats: dict[str, torch.Tensor]) -> None:
        """Keep the values of a step, for the averages of the epoch."""
        for name, value in stats.items():
            self._trained.setdefault(name, []).append(value)

    def on_train_epoch_end(self) -> None:
        """Raise where a cost of the epoch is not finite, before a checkpoint is written.

        Raises:
            DivergedError: a cost is not finite.
        """
        self._refuse_divergence()

    def on_validation_epoch_start(self) -> None:
        """Start the same noise for every evaluation, so that epochs can be compared.

        Raises:
            DivergedError: a cost of the epoch is not finite.
        """
        self._refuse_divergence()
        self._noise_of_evaluation = generator(self.options.seed, Stream.EVALUATION, 0, self.device)
        self._evaluated = {split: [] for split in SPLITS}

    def validation_step(
        self, batch: tuple[torch.Tensor, ...], batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Measure a batch of validation or test images."""
        with self._naming_divergence():
            self._evaluated[SPLITS[dataloader_idx]].append(self._columns(*batch))

    def on_validation_epoch_end(self) -> None:
        """Log the metrics of each split, and the averages of the training epoch."""
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
        """Raise where a cost is not finite; it waits for the device, so call it once per epoch."""
        costs = self._trained.get("cost")
        if costs and not torch.stack(costs).isfinite().all():
            raise self._diverged("a cost is not finite")

    @contextmanager
    def _naming_divergence(self) -> Iterator[None]:
        """Raise a `DivergedError` for scores that no solver accepts, since training diverged."""
        try:
            yield
        except ProblemError as error:
            raise self._diverged(f"of the scores that the encoder gives, {error}") from error

    def _diverged(self, what: str) -> DivergedError:
        rate = self.options.learning_rate
        return DivergedError(
            f"training diverged in epoch {self.current_epoch + 1}, step {self.global_step}: "
            f"{what}. Lower the learning rate, which is {rate:g}: --learning_rate {rate / 10:g}. "
            "Checkpoints are from earlier epochs"
        )

    @property
    def _share_hidden(self) -> float:
        """The share of the pixels that dropout hides in this epoch."""
        if self.options.dropout is None:
            return 0.0
        return self.options.dropout(self.current_epoch)

    def _seen(self, x: torch.Tensor) -> torch.Tensor:
        """Return the images that the encoder sees in a step, with dropout of pixels."""
        if self.options.dropout is None:
            return x
        kept = 1 - self._share_hidden
        uniform = torch.rand(x.shape, generator=self._noise, device=x.device, dtype=x.dtype)
        return x * (uniform < kept) / kept
