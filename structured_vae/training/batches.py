"""Images in memory, a batch at a time."""

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
    """Index tensors of a whole batch each, in an order that depends on seed and epoch alone.

    Several processes share a batch that is as many times as large, image by image in turn: together
    they see what one process with that batch sees.

    Args:
        count: images.
        batch_size: of every batch but perhaps the last; of one process.
        seed: of the run.
        rank: of this process.
        processes: how many train together.
    """

    def __init__(self, count: int, batch_size: int, seed: int, rank: int = 0, processes: int = 1):
        self.count = count
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.processes = processes
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer at the start of every epoch, a resumed one too."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[torch.Tensor]:
        """One epoch; its order is drawn with the first batch, as the trainer may set the epoch late."""
        order = torch.randperm(
            self.count, generator=generator(self.seed, Stream.SHUFFLE, self.epoch)
        )
        whole = torch.split(order, self.batch_size * self.processes)
        yield from (batch[self.rank :: self.processes] for batch in whole[: len(self)])

    def __len__(self) -> int:
        """Batches an epoch; a last one with too few images for all processes is left out."""
        full, rest = divmod(self.count, self.batch_size * self.processes)
        return full + (rest >= self.processes)


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


class TrainingImages(Dataset[tuple[torch.Tensor, ...]]):
    """What a training step gets for a tensor of indices: `(images,)`, or with labelled images and classes.

    Whatever is random here depends on seed, epoch and the batch's first index alone, so that a
    resumed run draws the same.

    Args:
        split: images to train on; those with `grey` are drawn anew in every step.
        sampler: of the batches; knows the epoch.
        seed: of the run.
        labelled: `[labels]`, places of the images whose classes are used; None for a model without.
    """

    MOST_LABELLED = 100
    """Labelled images a step."""

    def __init__(
        self, split: Split, sampler: ShuffledBatches, seed: int, labelled: torch.Tensor | None
    ):
        self.values = torch.from_numpy(split.images if split.grey is None else split.grey)
        self.classes = torch.from_numpy(split.labels)
        self.redrawn = split.grey is not None
        self.sampler = sampler
        self.seed = seed
        self.labelled = labelled

    def __getitem__(self, indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """`images [batch, pixels]`, and perhaps `labelled images [m, pixels]` and `classes [m]`."""
        if self.labelled is None:
            return (self._images(indices, indices),)
        order = torch.randperm(
            len(self.labelled), generator=self._random(Stream.LABELLED_BATCH, indices)
        )
        chosen = self.labelled[order[: self.MOST_LABELLED]]
        images = self._images(torch.cat([indices, chosen]), indices)
        return images[: len(indices)], images[len(indices) :], self.classes[chosen]

    def _images(self, wanted: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        values = _intensities(self.values[wanted])
        return (
            values.bernoulli(generator=self._random(Stream.BINARISATION, indices))
            if self.redrawn
            else values
        )

    def _random(self, stream: Stream, indices: torch.Tensor) -> torch.Generator:
        return generator(self.seed, stream, self.sampler.epoch, part=int(indices[0]))


class LabelledImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Images with their classes or attributes.

    Args:
        split: images to evaluate.
    """

    def __init__(self, split: Split):
        self.images = torch.from_numpy(split.images)
        self.labels = torch.from_numpy(split.labels)

    def __getitem__(self, indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`images [batch, pixels]`, and `labels [batch]` or `[batch, n]`."""
        return _intensities(self.images[indices]), self.labels[indices]


def _intensities(stored: torch.Tensor) -> torch.Tensor:
    """In [0, 1]: stored bytes are steps of 1/255."""
    return stored if stored.is_floating_point() else stored / 255


def batches(split: Split, sampler: Sampler[torch.Tensor]) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Batches `(images [batch, pixels], labels [batch, ...])`, each gathered by one indexing in memory."""
    return _loader(LabelledImages(split), sampler)


def _loader(
    dataset: Dataset[tuple[torch.Tensor, ...]], sampler: Sampler[torch.Tensor]
) -> DataLoader[tuple[torch.Tensor, ...]]:
    # With a generator of its own the loader leaves torch's global one alone.
    return DataLoader(dataset, sampler=sampler, batch_size=None, generator=torch.Generator())


class ImageData(pl.LightningDataModule):
    """A dataset for Lightning: shuffled training batches, then validation and test in order.

    The test split is followed along with the validation split, for curves; nothing is chosen by it.

    Args:
        dataset: loaded images.
        batch_size: of training.
        seed: of the shuffling, and of what is drawn for a step.
        labelled: `[labels]`, places of the training images whose classes are used.
        digest: of images that may be others when a run goes on; checkpoints keep it.
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
        """The digest, for a checkpoint."""
        return {"digest": self.digest}

    def refuse_others(self, checkpoint: Mapping[str, Any]) -> None:
        """Holds these images against those of a checkpoint.

        Args:
            checkpoint: what `read_checkpoint` gives; older ones know of no images.

        Raises:
            RunError: the checkpoint does not say which images it was trained on.
            DataError: they are others.
        """
        images = checkpoint.get(type(self).__qualname__, {"digest": None})
        if not isinstance(images, dict) or not isinstance(images.get("digest"), str | None):
            raise RunError(f"the checkpoint is damaged: its images are {shortened(images)}")
        before = images.get("digest")
        if before not in (None, self.digest):
            raise DataError(
                f"the images of {self.dataset.name} are others than those that the run was trained on until now: put "
                "those back, or begin a run in another folder"
            )

    def train_dataloader(self) -> DataLoader[tuple[torch.Tensor, ...]]:
        """Shuffled batches of the training split."""
        train = self.dataset.train
        rank, processes = (
            (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        )
        sampler = ShuffledBatches(len(train), self.batch_size, self.seed, rank, processes)
        return _loader(TrainingImages(train, sampler, self.seed, self.labelled), sampler)

    def val_dataloader(self) -> list[DataLoader[tuple[torch.Tensor, ...]]]:
        """Validation, then test."""
        return [
            batches(split, InOrderBatches(len(split), 1000))
            for split in (self.dataset.validation, self.dataset.test)
        ]
