"""The training of a VAE with discrete latent variables, for Lightning."""

from __future__ import annotations

from collections.abc import Callable

import lightning.pytorch as pl
import torch

from models import AnyPotentials, DiscreteVAE

from .bound import image_costs, summarise
from .estimators import Estimator
from .posteriors import Posterior
from .recipes import Recipe
from .seeds import Stream, generator

SPLITS = ("validation", "test")
"""In the order of `ImageData.val_dataloader`."""

SHOWN_EVERY = 20
"""Steps between updates of the progress bar's cost; each costs as much as a small solve."""


class ArgmaxTraining(pl.LightningModule):
    """One gradient estimate a batch, one Adam over encoder, decoder and what the estimator learns.

    The released code has two Adams with the same rate; Adam works on each parameter alone, so one is the
    same. Noise depends on seed and epoch alone, so a run resumed at an epoch's end draws what the
    uninterrupted run draws.

    Args:
        vae: what is trained.
        estimator: of the encoder's gradient.
        posterior: makes the distribution that the model is evaluated with.
        recipe: makes the objective that is minimised.
        learning_rate: of Adam.
        seed: of the noise.
    """

    def __init__(
        self,
        vae: DiscreteVAE,
        estimator: Estimator,
        posterior: Callable[[AnyPotentials], Posterior],
        recipe: Recipe,
        learning_rate: float,
        seed: int,
    ):
        super().__init__()
        self.vae = vae
        self.estimator = estimator
        self.posterior = posterior
        self.recipe = recipe
        self.learning_rate = learning_rate
        self.seed = seed
        self._costs: dict[str, list[dict[str, torch.Tensor]]] = {}
        self._trained: dict[str, list[torch.Tensor]] = {}

    @property
    def monitored(self) -> str:
        """The metric that the best epoch is chosen by: the bound, where a tight one is known.

        Else the paper's own number, which is finite and comparable for every encoder.
        """
        return f"validation/{'bound' if self.estimator.samples_gibbs else 'bound_surrogate'}"

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam over all parameters."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate, fused=True)

    def on_train_epoch_start(self) -> None:
        """Starts the epoch's noise and averages."""
        self._trained = {}
        self._noise = generator(self.seed, Stream.NOISE, self.current_epoch, self.device)

    def training_step(self, batch: tuple[torch.Tensor, ...], batch_idx: int) -> torch.Tensor:
        """The loss of a batch, shown now and then."""
        loss = self.loss(batch[0])
        if batch_idx % SHOWN_EVERY == 0:
            self.log("train", self._trained["cost"][-1], prog_bar=True, logger=False)
        return loss

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        """What has the estimate of the objective's gradient as its own, for images `[batch, pixels]`."""
        potentials = self.vae.encoder(x)
        objective = self.recipe(self.vae, x, potentials, self.estimator.kl)
        estimate = self.estimator(potentials, objective.cost, self._noise, self.global_step)
        for name, value in {"cost": estimate.cost.mean(), **estimate.stats}.items():
            self._trained.setdefault(name, []).append(value)
        loss: torch.Tensor = (estimate.surrogate + objective.kl).mean() + estimate.tuning
        return loss

    def on_validation_epoch_start(self) -> None:
        """Starts the same noise for every evaluation, so that epochs compare."""
        self._noise_of_evaluation = generator(self.seed, Stream.EVALUATION, 0, self.device)
        self._costs = {split: [] for split in SPLITS}

    def validation_step(
        self, batch: tuple[torch.Tensor, ...], batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Costs of a batch of validation or test images."""
        costs = image_costs(self.vae, batch[0], self.posterior, self._noise_of_evaluation)
        self._costs[SPLITS[dataloader_idx]].append(costs)

    def on_validation_epoch_end(self) -> None:
        """Logs the bound of each split with its parts, and the averages of the training epoch."""
        self.log_dict({f"train/{name}": torch.stack(all_).mean() for name, all_ in self._trained.items()})
        for split, costs in self._costs.items():
            bound = summarise(costs).to_dict()
            self.log_dict({f"{split}/{part}": value for part, value in bound.items() if part != "images"})
            shown = self.monitored.partition("/")[2]
            self.log(split, bound[shown], prog_bar=True, logger=False)
        self._costs = {}
