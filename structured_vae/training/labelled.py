"""The images whose labels a semi-supervised training may see."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ConfigError
from ..seeds import Stream, generator


def balanced_labels(classes: NDArray[np.int64], k: int, count: int, seed: int) -> torch.Tensor:
    """`[count]`: places of as many images of each of k classes, drawn by the seed alone.

    Args:
        classes: of all training images, 0 to k - 1, int64 [images].
        k: classes.
        count: images to draw, a multiple of k.
        seed: of the run.

    Raises:
        ConfigError: the classes are others, the count is no multiple, or a class has too few
            images.

    Example:
        >>> balanced_labels(np.array([0, 1, 0, 1]), 2, 4, seed=0).sort().values
        tensor([0, 1, 2, 3])
    """
    found = np.unique(classes)
    if len(found) != k or found[-1] != k - 1:
        raise ConfigError(
            f"the images have {len(found)} classes, and the model has k = {k}; they must agree"
        )
    if count % k:
        raise ConfigError(f"labels must be a multiple of the number of classes, {k}; got {count}")
    each, fewest = count // k, int(np.bincount(classes).min())
    if each > fewest:
        raise ConfigError(f"labels can be at most {k * fewest}, {fewest} a class; got {count}")
    order = torch.randperm(len(classes), generator=generator(seed, Stream.LABELS))
    of_order = torch.from_numpy(classes)[order]
    return torch.cat([order[of_order == one][:each] for one in range(k)])


def drawn_labels(images: int, count: int, seed: int) -> torch.Tensor:
    """`[count]`: places of images drawn by the seed alone; fewer of a seed are a part of its more.

    Args:
        images: to draw from.
        count: to draw.
        seed: of the run.

    Raises:
        ConfigError: there are not so many images.

    Example:
        >>> drawn_labels(3, 3, seed=0).sort().values
        tensor([0, 1, 2])
    """
    if count > images:
        raise ConfigError(f"labels can be at most {images}, the images to train on; got {count}")
    return torch.randperm(images, generator=generator(seed, Stream.LABELS))[:count]
