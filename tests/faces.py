"""Faces of random pixels, with random attributes, for tests that need no face."""

import numpy as np

from structured_vae.data import ATTRIBUTES, ImageDataset, Split

PIXELS = 3 * 64 * 64


def faces(count, seed):
    random = np.random.default_rng(seed)
    images = random.integers(256, size=(count, PIXELS), dtype=np.uint8)
    return Split(images, random.integers(2, size=(count, 8)))


def few_faces():
    splits = {"train": faces(12, 0), "validation": faces(4, 1), "test": faces(6, 2)}
    return ImageDataset(
        "celeba", "none", 64, 64, **splits, channels=3, attributes=ATTRIBUTES, shown=False
    )
