"""Options of the images."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from ...data import IN_MEMORY, dataset_names

TrainOn = Literal["train", "train+validation"]


@dataclass(frozen=True)
class DataConfig:
    """The images.

    Attributes:
        name: a data set by name, of which fashion-mnist-mini ships with the package; an .npz file
            with train_images, validation_images and test_images, uint8 [count, height, width]; or a
            folder of PNG or JPEG files.
        root: folder that holds a folder for each data set, named as it is; default: the environment
            variable STRUCTURED_VAE_DATA, then a per-user cache filled by download.
        binarisation: threshold (grey > 0.5), static (drawn once), dynamic (drawn anew in every
            training step) or none; default: threshold, and none for celeba.
        batch_size: images a step.
        train_on: the split train; or train+validation, all images that are not for the test, as the
            released code does, which leaves none to choose an epoch by: the best one is then of
            images that were trained on.
    """

    name: str = "fashion-mnist-mini"
    root: str | None = None
    binarisation: str | None = None
    batch_size: int = 100
    train_on: TrainOn = "train"

    @property
    def is_path(self) -> bool:
        """Whether the images are a file or folder of one's own: no name of ours, and not in memory."""
        return self.name not in dataset_names() and not self.name.startswith(IN_MEMORY)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with these options."""
        if self.train_on not in get_args(TrainOn):
            yield f"data.train_on must be train or train+validation; got {self.train_on}"
        if not self.batch_size >= 1:
            yield f"data.batch_size must be at least 1; got {self.batch_size}"
