"""Draw the images whose labels a semi-supervised training may see."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ConfigError
from ..seeds import Stream, generator


def balanced_labels(classes: NDArray[np.int64], k: int, count: int, seed: int) -> torch.Tensor:
    """Return the places `[count]` of equally many images of each of k classes.

    They depend only on the seed.

    Args:
        classes: `[images]`, int64, the classes of all training images, from 0 to k - 1.
        k: number of classes.
        count: number of images to draw, a multiple of k.
        seed: seed of the run.

    Raises:
        ConfigError: the images have other classes, the count is not a multiple of k, or a class has
            too few images.

    Example:
        >>> balanced_labels(np.array([0, 1, 0, 1]), 2, 4, seed=0).sort().values
        tensor([0, 1, 2, 3])
    """
    present = np.unique(classes)
    if len(present) != k or present[-1] != k - 1:
        raise ConfigError(
            f"the images have {len(present)} classes, and the model has k = {k}; they must agree"
        )
    if count % k:
        raise ConfigError(f"labels must be a multiple of the number of classes, {k}; got {count}")
    per_class = count // k
    fewest = int(np.bincount(classes).min())
    if per_class > fewest:
        raise ConfigError(f"labels can be at most {k * fewest}, {fewest} a class; got {count}")
    order = torch.randperm(len(classes), generator=generator(seed, Stream.LABELS))
    of_order = torch.from_numpy(classes)[order]
    return torch.cat([order[of_order == one][:per_class] for one in range(k)])


def drawn_labels(images: int, count: int, seed: int) -> torch.Tensor:
    """Return the places `[count]` of images drawn at random, which depend only on the seed.

    With the same seed, a smaller draw is the beginning of a larger one.

    Args:
        images: number of images to draw from.
        count: number of images to draw.
        seed: seed of the run.

    Raises:
        ConfigError: there are fewer images than that.

    Example:
        >>> drawn_labels(3, 3, seed=0).sort().values
        tensor([0, 1, 2])
    """
    if count > images:
        raise ConfigError(f"labels can be at most {images}, the images to train on; got {count}")
    return torch.randperm(images, generator=generator(seed, Stream.LABELS))[:count]
