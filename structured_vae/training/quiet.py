"""What Lightning says and nobody needs to know."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Inside it no tips are logged, and there are no warnings of how batches are loaded or of torch's own parts."""
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            # Batches are slices of tensors in memory: worker processes would only add copies.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings(
                "ignore", message=".*LeafSpec.* is deprecated.*"
            )  # Lightning beside torch
            yield
    finally:
        logger.setLevel(before)
