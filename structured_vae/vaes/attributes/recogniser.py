"""A network that knows faces by nothing but their attributes: the judge of what another network decodes."""

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
    """Learns the attributes of faces by their cross-entropies, in a network of its own.

    Args:
        n: attributes.
        seed: of the first weights.
    """

    def __init__(self, n: int, seed: int):
        super().__init__()
        with torch_seeded(seed, Stream.RECOGNISER):
            self.network = AttributeEncoder("independent", n, 1, CHANNELS)

    @torch.no_grad()
    def found(self, x: torch.Tensor) -> torch.Tensor:
        """`[batch, n]`: the attributes that faces `x [batch, pixels]` more probably have than not."""
        return (self.network.scores(x).unary > 0).to(x.dtype)

    def training_step(
        self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int
    ) -> torch.Tensor:
        """The mean cross-entropy of an attribute."""
        x, labels = batch
        return binary_cross_entropy_with_logits(self.network.scores(x).unary, labels.to(x.dtype))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam; the code's layer has no part in this."""
        return torch.optim.Adam(self.network.parameters(), lr=RATE)


def recogniser(dataset: ImageDataset, seed: int, epochs: int = EPOCHS) -> Recogniser:
    """One that has seen the attributes of all training images.

    Args:
        dataset: faces with attributes.
        seed: of weights and order.
        epochs: of its training.
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
