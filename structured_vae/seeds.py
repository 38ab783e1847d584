"""Independent random streams from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
import torch


class Stream(IntEnum):
    """What randomness is for: each purpose has a stream of its own."""

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
    seed: int, stream: Stream, epoch: int = 0, device: torch.device | str = "cpu", part: int = 0
) -> torch.Generator:
    """A generator that depends on nothing but its arguments, so that a resumed run draws the same.

    Args:
        seed: of the run.
        stream: what for.
        epoch: of the training.
        device: of the generator.
        part: of the epoch, for what must not depend on the order of the parts.
    """
    words = np.random.SeedSequence([seed, int(stream), epoch, part]).generate_state(2, np.uint32)
    return torch.Generator(device).manual_seed(int(words[0]) << 31 ^ int(words[1]))


@contextmanager
def torch_seeded(seed: int, stream: Stream) -> Iterator[None]:
    """Torch's global generator, from which layers draw their weights, is seeded; afterwards it is as before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator(seed, stream).initial_seed())
        yield
