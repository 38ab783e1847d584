"""Options of the images."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from ...data import IN_MEMORY
from ...data.registry import READERS

TrainOn = Literal["train", "train+validation"]


@dataclass(frozen=True)
class DataConfig:
    """The settings that say which images a training uses.

    Attributes:
        name: name of a data set (fashion-mnist-mini ships with the package); an .npz file with
            train_images, validation_images and test_images, uint8 [count, height, width]; or a
            folder of PNG or JPEG files.
        root: folder with one subfolder per data set, of the same name; default: the environment
            variable STRUCTURED_VAE_DATA, then a per-user cache filled by download.
        binarisation: threshold (grey > 0.5), static (drawn once), dynamic (drawn again in every
            training step) or none; default: threshold, and none for celeba.
        batch_size: images per training step.
        train_on: train, the training split; or train+validation, all images outside the test
            split, as in the released code. The best epoch is then chosen on images of the training.
    """

    name: str = "fashion-mnist-mini"
    root: str | None = None
    binarisation: str | None = None
    batch_size: int = 100
    train_on: TrainOn = "train"

    @property
    def is_path(self) -> bool:
        """Whether the name is the path of a file or folder of the user."""
        return self.name not in READERS and not self.name.startswith(IN_MEMORY)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with these options."""
        if self.train_on not in get_args(TrainOn):
            yield f"data.train_on must be train or train+validation; got {self.train_on}"
        if not self.batch_size >= 1:
            yield f"data.batch_size must be at least 1; got {self.batch_size}"
