"""The official files of each dataset: names, shapes, checksums and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .idx import idx_sha256


@dataclass(frozen=True)
class DataFile:
    """One official IDX file.

    Attributes:
        name: its name, without `.gz`.
        shape: the shape of the array in it.
        sha256: the SHA-256 of its uncompressed content. The compressed bytes differ between
            mirrors although the content does not.
    """

    name: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class Source:
    """A dataset published as four IDX files.

    Attributes:
        name: the dataset's name, and that of its folder under a root.
        url: the address under which `<file name>.gz` are published.
        train_images: images of the official training set, `[count, height, width]`.
        train_labels: their classes, `[count]`.
        test_images: images of the official test set, `[count, height, width]`.
        test_labels: their classes, `[count]`.
        train_count: how many images of the official training set, from the first, form the train
            split; the remaining ones form the validation split.
    """

    name: str
    url: str
    train_images: DataFile
    train_labels: DataFile
    test_images: DataFile
    test_labels: DataFile
    train_count: int = 50_000

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The four files: training images and labels, then test images and labels."""
        return (self.train_images, self.train_labels, self.test_images, self.test_labels)

    def url_of(self, file: DataFile) -> str:
        """Return the address of one of the four files."""
        return f"{self.url}/{file.name}.gz"


def check_content(array: NDArray[np.uint8], file: DataFile, origin: str) -> None:
    """Check that an array equals the content of the official file, byte for byte.

    Args:
        array: the content read, of the file's shape.
        file: the official file.
        origin: where the content comes from, for the message.

    Raises:
        DataError: the checksum differs.
    """
    checksum = idx_sha256(array)
    if checksum != file.sha256:
        raise DataError(
            f"{origin}: not the official {file.name}: expected content with SHA-256 "
            f"{file.sha256}, found {checksum}."
        )


FASHION_MNIST: Final = Source(
    name="fashion-mnist",
    # The official address, which has no https; the checksums guard the content.
    url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    train_images=DataFile(
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    train_labels=DataFile(
        "train-labels-idx1-ubyte",
        (60_000,),
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    test_images=DataFile(
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    test_labels=DataFile(
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)

MNIST: Final = Source(
    name="mnist",
    # PyTorch's mirror: LeCun's own site, yann.lecun.com/exdb/mnist, does not serve them reliably.
    url="https://ossci-datasets.s3.amazonaws.com/mnist",
    train_images=DataFile(
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    train_labels=DataFile(
        "train-labels-idx1-ubyte",
        (60_000,),
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    test_images=DataFile(
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    test_labels=DataFile(
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)
