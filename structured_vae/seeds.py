"""Independent random streams from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
import torch


class Stream(IntEnum):
    """The purposes of random numbers, each of which has a separate stream."""

    INITIALISATION = 0
    SHUFFLE = 1
    NOISE = 2
    EVALUATION = 3
    PICTURES = 4
    ESTIMATOR = 5
    BINARISATION = 6
    LABELS = 7
    LABELLED_BATCH = 8
    NETWORKS = 9
    RECOGNISER = 10


def generator(
    seed: int, stream: Stream, epoch: int = 0, device: torch.device | str = "cpu", index: int = 0
) -> torch.Generator:
    """Return a generator that depends only on the arguments, so that a resumed run draws the same.

    Args:
        seed: the seed of the run.
        stream: the purpose of the random numbers.
        epoch: the epoch of the training.
        device: the device of the generator.
        index: a number within the epoch, for draws that must not depend on the order of the draws.
    """
    words = np.random.SeedSequence([seed, int(stream), epoch, index]).generate_state(2, np.uint32)
    return torch.Generator(device).manual_seed(int(words[0]) << 31 ^ int(words[1]))


@contextmanager
def torch_seeded(seed: int, stream: Stream) -> Iterator[None]:
    """Seed torch's global generator, which initialises layers, and restore its state at the end."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator(seed, stream).initial_seed())
        yield
