"""Random images of sixteen pixels, for tests in which a training only has to be short."""

import contextlib

import numpy as np
import pytest

from structured_vae.data import ImageDataset, Split


def few_images(*_):
    """Return 40 training images, 10 validation images and 10 test images."""
    random = np.random.default_rng(0)

    def split(count):
        return Split(
            (random.random((count, 16)) < 0.5).astype(np.float32), np.zeros(count, np.int64)
        )

    return ImageDataset("fashion-mnist-mini", "threshold", 4, 4, split(40), split(10), split(10))


@contextlib.contextmanager
def reading(images):
    """Let runs read these images, or what the function `images` loads, whatever data they name."""
    load = images if callable(images) else lambda *_: images
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structured_vae.runs.assembly.load_dataset", load)
        yield


@pytest.fixture(scope="module", autouse=True)
def on_few_images():
    """Every configuration of a module names these images."""
    with reading(few_images):
        yield
