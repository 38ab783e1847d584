"""The training of a VAE through an argmax, for Lightning."""

from __future__ import annotations

import lightning.pytorch as pl
import torch

from models import BinaryVAE

from .direct import Direct
from .evaluation import image_costs, summarise
from .recipes import Recipe
from .seeds import Stream, generator

SPLITS = ("validation", "test")
"""In the order of `ImageData.val_dataloader`."""

SHOWN_EVERY = 20
"""Steps between updates of the progress bar's cost; each costs as much as a small solve."""


class ArgmaxTraining(pl.LightningModule):
    """One gradient estimate a batch, one Adam over encoder and decoder.

    The released code has two Adams with the same rate; Adam works on each parameter alone, so one is the
    same. Noise depends on seed and epoch alone, so a run resumed at an epoch's end draws what the
    uninterrupted run draws.

    Args:
        vae: what is trained.
        estimator: of the encoder's gradient.
        recipe: makes the cost that is minimised.
        learning_rate: of Adam.
        seed: of the noise.
    """

    def __init__(self, vae: BinaryVAE, estimator: Direct, recipe: Recipe, learning_rate: float, seed: int):
        super().__init__()
        self.vae = vae
        self.estimator = estimator
        self.recipe = recipe
        self.learning_rate = learning_rate
        self.seed = seed
        self._costs: dict[str, list[torch.Tensor]] = {}
        self._trained: list[torch.Tensor] = []

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam over all parameters."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate, fused=True)

    def on_train_epoch_start(self) -> None:
        """Starts the epoch's noise and averages."""
        self._trained = []
        self._noise = generator(self.seed, Stream.NOISE, self.current_epoch, self.device)

    def training_step(self, batch: tuple[torch.Tensor, ...], batch_idx: int) -> torch.Tensor:
        """The loss whose gradient is the estimate."""
        (x,) = batch
        potentials = self.vae.encoder(x)
        cost = self.recipe(self.vae, x, potentials)
        estimate = self.estimator(potentials, cost, self._noise, self.global_step)
        average = estimate.cost.mean()
        self._trained.append(torch.stack([average.detach(), estimate.changed]))
        if batch_idx % SHOWN_EVERY == 0:
            self.log("train", average, prog_bar=True, logger=False)
        return average + estimate.surrogate.mean()

    def on_validation_epoch_start(self) -> None:
        """Starts the same noise for every evaluation, so that epochs compare."""
        self._noise_of_evaluation = generator(self.seed, Stream.EVALUATION, 0, self.device)
        self._costs = {split: [] for split in SPLITS}

    def validation_step(
        self, batch: tuple[torch.Tensor, ...], batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Costs of a batch of validation or test images."""
        costs = image_costs(self.vae, batch[0], self.estimator.solver, self._noise_of_evaluation)
        self._costs[SPLITS[dataloader_idx]].append(costs)

    def on_validation_epoch_end(self) -> None:
        """Logs the bound of each split with its parts, and the averages of the training epoch."""
        if self._trained:
            averages = torch.stack(self._trained).mean(dim=0)
            self.log_dict({"train/reconstruction": averages[0], "train/changed": averages[1]})
        for split, costs in self._costs.items():
            bound = summarise(torch.cat(costs)).to_dict()
            self.log_dict({f"{split}/{part}": bound[part] for part in bound if part != "images"})
            self.log(split, bound["bound_surrogate"], prog_bar=True, logger=False)
        self._costs = {}
