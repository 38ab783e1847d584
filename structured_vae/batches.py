"""Images in memory, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

from .data import ImageDataset, Split
from .seeds import Stream, generator


class ShuffledBatches(Sampler[torch.Tensor]):
    """Index tensors of a whole batch each, in an order that depends on seed and epoch alone.

    Args:
        count: images.
        batch_size: of every batch but perhaps the last.
        seed: of the run.
    """

    def __init__(self, count: int, batch_size: int, seed: int):
        self.count = count
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer at the start of every epoch, a resumed one too."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[torch.Tensor]:
        """One epoch; its order is drawn with the first batch, as the trainer may set the epoch late."""
        order = torch.randperm(self.count, generator=generator(self.seed, Stream.SHUFFLE, self.epoch))
        yield from torch.split(order, self.batch_size)

    def __len__(self) -> int:
        """Batches an epoch."""
        return -(-self.count // self.batch_size)


class InOrderBatches(Sampler[torch.Tensor]):
    """Index tensors of a whole batch each, in the order of the data.

    Args:
        count: images.
        batch_size: of every batch but perhaps the last.
    """

    def __init__(self, count: int, batch_size: int):
        self.count = count
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[torch.Tensor]:
        """One pass."""
        return iter(torch.split(torch.arange(self.count), self.batch_size))

    def __len__(self) -> int:
        """Batches a pass."""
        return -(-self.count // self.batch_size)


def batches(split: Split, sampler: Sampler[torch.Tensor]) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Batches `(images [batch, pixels],)`, each gathered by one indexing of the tensor in memory."""
    images = TensorDataset(torch.from_numpy(split.images))
    # With a generator of its own the loader leaves torch's global one alone.
    return DataLoader(images, sampler=sampler, batch_size=None, generator=torch.Generator())


class ImageData(pl.LightningDataModule):
    """A dataset for Lightning: shuffled training batches, then validation and test in order.

    The test split is followed along with the validation split, for curves; nothing is chosen by it.

    Args:
        dataset: loaded images.
        batch_size: of training.
        seed: of the shuffling.
    """

    def __init__(self, dataset: ImageDataset, batch_size: int, seed: int):
        super().__init__()
        self.dataset = dataset
        self.batch_size = batch_size
        self.seed = seed

    def train_dataloader(self) -> DataLoader[tuple[torch.Tensor, ...]]:
        """Shuffled batches of the training split."""
        train = self.dataset.train
        return batches(train, ShuffledBatches(len(train), self.batch_size, self.seed))

    def val_dataloader(self) -> list[DataLoader[tuple[torch.Tensor, ...]]]:
        """Validation, then test."""
        return [
            batches(split, InOrderBatches(len(split), 1000))
            for split in (self.dataset.validation, self.dataset.test)
        ]
