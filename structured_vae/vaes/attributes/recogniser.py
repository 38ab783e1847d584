"""A network that recognises the attributes of faces, and judges what another network decodes."""

from __future__ import annotations

from typing import Final

import lightning.pytorch as pl
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from models.vaes.attributes import AttributeEncoder

from ...data import ImageDataset
from ...seeds import Stream, torch_seeded
from ...training.batches import ShuffledBatches, batches
from ...training.quiet import quiet

CHANNELS: Final = 16
EPOCHS: Final = 12
BATCH_SIZE: Final = 50
RATE: Final = 1e-3


class Recogniser(pl.LightningModule):
    """A separate network that learns the attributes of faces by their cross-entropies.

    Args:
        n: number of attributes.
        seed: the seed of the initial weights.
    """

    def __init__(self, n: int, seed: int):
        super().__init__()
        with torch_seeded(seed, Stream.RECOGNISER):
            self.network = AttributeEncoder("independent", n, 1, CHANNELS)

    @torch.no_grad()
    def found(self, x: torch.Tensor) -> torch.Tensor:
        """Return the attributes `[batch, n]` that are more probable than not in faces `x`."""
        return (self.network.scores(x).unary > 0).to(x.dtype)

    def training_step(
        self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int
    ) -> torch.Tensor:
        """Return the mean cross-entropy per attribute."""
        x, labels = batch
        return binary_cross_entropy_with_logits(self.network.scores(x).unary, labels.to(x.dtype))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam over all trained layers; the code's layer is not one of them."""
        return torch.optim.Adam(self.network.parameters(), lr=RATE)


def recogniser(dataset: ImageDataset, seed: int, epochs: int = EPOCHS) -> Recogniser:
    """Return a recogniser trained on the attributes of all training images.

    Args:
        dataset: faces with attributes.
        seed: the seed of the weights and of the order of images.
        epochs: number of training epochs.
    """
    network = Recogniser(dataset.train.labels.shape[-1], seed)
    shuffled = ShuffledBatches(len(dataset.train), BATCH_SIZE, seed)
    with quiet():
        trainer = pl.Trainer(
            accelerator="cpu",
            max_epochs=epochs,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(network, batches(dataset.train, shuffled))
    return network.eval()
