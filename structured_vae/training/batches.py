"""The batches of images in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from ..data import ImageDataset, Split
from ..errors import DataError, RunError, shortened
from ..seeds import Stream, generator


class ShuffledBatches(Sampler[torch.Tensor]):
    """A sampler of whole batches in a random order, which depends only on seed and epoch.

    Several processes share a larger batch and take its images in turn. Together they see the images
    that one process with that batch sees.

    Args:
        count: number of images.
        batch_size: size of every batch of one process; the last may be smaller.
        seed: seed of the run.
        rank: rank of this process.
        processes: number of processes that train together.
    """

    def __init__(self, count: int, batch_size: int, seed: int, rank: int = 0, processes: int = 1):
        self.count = count
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.processes = processes
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; the trainer calls this at the start of every epoch, also a resumed one."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Return the indices of the batches of one epoch."""
        # The order is drawn with the first batch, as the trainer may set the epoch late.
        order = torch.randperm(
            self.count, generator=generator(self.seed, Stream.SHUFFLE, self.epoch)
        )
        whole = torch.split(order, self.batch_size * self.processes)
        yield from (batch[self.rank :: self.processes] for batch in whole[: len(self)])

    def __len__(self) -> int:
        """Return the number of batches, without one of too few images for all processes."""
        full, rest = divmod(self.count, self.batch_size * self.processes)
        return full + (rest >= self.processes)


class InOrderBatches(Sampler[torch.Tensor]):
    """A sampler of whole batches in the order of the data.

    Args:
        count: number of images.
        batch_size: size of every batch; the last may be smaller.
    """

    def __init__(self, count: int, batch_size: int):
        self.count = count
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Return the indices of the batches of one pass."""
        return iter(torch.split(torch.arange(self.count), self.batch_size))

    def __len__(self) -> int:
        """Return the number of batches of one pass."""
        return -(-self.count // self.batch_size)


class TrainingImages(Dataset[tuple[torch.Tensor, ...]]):
    """The images of a training step by a tensor of indices, with some labelled images or without.

    All randomness depends only on seed, epoch and the first index of the batch, so that a resumed
    run draws the same.

    Args:
        split: images to train on; images with `grey` are binarised again in every step.
        sampler: the sampler of the batches, which knows the epoch.
        seed: seed of the run.
        labelled: `[labels]`, places of the images whose classes are used; None for a model without
            labels.
    """

    MOST_LABELLED = 100
    """Most labelled images of a step."""

    def __init__(
        self, split: Split, sampler: ShuffledBatches, seed: int, labelled: torch.Tensor | None
    ):
        stored = split.images
        if split.grey is not None:
            stored = split.grey
        self.values = torch.from_numpy(stored)
        self.classes = torch.from_numpy(split.labels)
        self.redrawn = split.grey is not None
        self.sampler = sampler
        self.seed = seed
        self.labelled = labelled

    def __getitem__(self, indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return `images [batch, pixels]`; with labels also `[m, pixels]` and `classes [m]`."""
        if self.labelled is None:
            return (self._images(indices, indices),)
        # The choice depends on seed, epoch and batch alone, so a resumed run draws the same ones.
        order = torch.randperm(
            len(self.labelled), generator=self._random(Stream.LABELLED_BATCH, indices)
        )
        chosen = self.labelled[order[: self.MOST_LABELLED]]
        images = self._images(torch.cat([indices, chosen]), indices)
        return images[: len(indices)], images[len(indices) :], self.classes[chosen]

    def _images(self, wanted: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        values = _intensities(self.values[wanted])
        if not self.redrawn:
            return values
        return values.bernoulli(generator=self._random(Stream.BINARISATION, indices))

    def _random(self, stream: Stream, indices: torch.Tensor) -> torch.Generator:
        return generator(self.seed, stream, self.sampler.epoch, index=int(indices[0]))


class LabelledImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """The images of a split with their classes or attributes.

    Args:
        split: images to evaluate.
    """

    def __init__(self, split: Split):
        self.images = torch.from_numpy(split.images)
        self.labels = torch.from_numpy(split.labels)

    def __getitem__(self, indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `images [batch, pixels]`, and `labels [batch]` or `[batch, n]`."""
        return _intensities(self.images[indices]), self.labels[indices]


def _intensities(stored: torch.Tensor) -> torch.Tensor:
    """Return intensities in [0, 1]; stored bytes are multiples of 1/255."""
    if stored.is_floating_point():
        return stored
    return stored / 255


def batches(split: Split, sampler: Sampler[torch.Tensor]) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Return batches `(images [batch, pixels], labels [batch, ...])` of a split in memory."""
    return _loader(LabelledImages(split), sampler)


def _loader(
    dataset: Dataset[tuple[torch.Tensor, ...]], sampler: Sampler[torch.Tensor]
) -> DataLoader[tuple[torch.Tensor, ...]]:
    # With a separate generator the loader does not change the global one of torch.
    return DataLoader(dataset, sampler=sampler, batch_size=None, generator=torch.Generator())


class ImageData(pl.LightningDataModule):
    """A dataset for Lightning: shuffled training batches, then validation and test in order.

    The test split is evaluated with the validation split, for curves; no choice depends on it.

    Args:
        dataset: the loaded images.
        batch_size: size of the training batches.
        seed: seed of the shuffling and of the random numbers of a step.
        labelled: `[labels]`, places of the training images whose classes are used.
        digest: digest of images that may have changed when a run resumes; checkpoints keep it.
    """

    def __init__(
        self,
        dataset: ImageDataset,
        batch_size: int,
        seed: int,
        labelled: torch.Tensor | None = None,
        digest: str | None = None,
    ):
        super().__init__()
        self.dataset = dataset
        self.batch_size = batch_size
        self.seed = seed
        self.labelled = labelled
        self.digest = digest

    def state_dict(self) -> dict[str, Any]:
        """Return the digest, for a checkpoint."""
        return {"digest": self.digest}

    def refuse_others(self, checkpoint: Mapping[str, Any]) -> None:
        """Raise unless these images are those of a checkpoint.

        Args:
            checkpoint: the result of `read_checkpoint`; older ones have no digest of images.

        Raises:
            RunError: the digest of the checkpoint is damaged.
            DataError: the images are not those of the checkpoint.
        """
        images = checkpoint.get(type(self).__qualname__, {"digest": None})
        if not isinstance(images, dict) or not isinstance(images.get("digest"), str | None):
            raise RunError(f"the checkpoint is damaged: its images are {shortened(images)}")
        before = images.get("digest")
        if before not in (None, self.digest):
            raise DataError(
                f"the images of {self.dataset.name} are not those that the run was trained on: "
                "put those back, or begin a run in another folder"
            )

    def train_dataloader(self) -> DataLoader[tuple[torch.Tensor, ...]]:
        """Return the shuffled batches of the training split."""
        train = self.dataset.train
        rank = 0
        processes = 1
        if self.trainer:
            rank = self.trainer.global_rank
            processes = self.trainer.world_size
        sampler = ShuffledBatches(len(train), self.batch_size, self.seed, rank, processes)
        return _loader(TrainingImages(train, sampler, self.seed, self.labelled), sampler)

    def val_dataloader(self) -> list[DataLoader[tuple[torch.Tensor, ...]]]:
        """Return the batches of validation and of test images."""
        return [
            batches(split, InOrderBatches(len(split), 1000))
            for split in (self.dataset.validation, self.dataset.test)
        ]
