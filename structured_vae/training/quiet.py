"""Silence tips and warnings of Lightning that no user needs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silence tips, and warnings about the loading of batches and parts of torch, in a block."""
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            # Batches are slices of tensors in memory: worker processes would only add copies.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            # Lightning uses a deprecated class of torch.
            warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated.*")
            yield
    finally:
        logger.setLevel(before)
