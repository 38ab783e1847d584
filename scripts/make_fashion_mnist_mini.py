"""Makes structured_vae/data/fashion_mnist_mini.npz from the full Fashion-MNIST.

Run from the repository root: `STRUCTURED_VAE_DATA=DIR python scripts/make_fashion_mnist_mini.py`,
where DIR/fashion-mnist has the four official files. The same seed gives the same arrays.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structured_vae.data import StoredSplit
from structured_vae.data.fashion_mnist_mini import MINI_COUNTS
from structured_vae.data.files.sources import FASHION_MNIST
from structured_vae.data.mnist import read_official

SEED = 2017
CLASS_COUNT = 10
OUTPUT = Path(__file__).parents[1] / "structured_vae" / "data" / "fashion_mnist_mini.npz"

# Where each split starts in the official file that it comes from.
OFFSETS = {"train": 0, "validation": FASHION_MNIST.train_count, "test": 0}


def main() -> None:
    """Draws the subset and writes it."""
    full = read_official(FASHION_MNIST)
    generator = np.random.default_rng(SEED)
    arrays: dict[str, Any] = {}
    for split, count in MINI_COUNTS.items():
        stored: StoredSplit = getattr(full, split)
        chosen = balanced(stored.labels, count, generator)
        arrays[f"{split}_images"] = stored.images[chosen]
        arrays[f"{split}_labels"] = stored.labels[chosen]
        arrays[f"{split}_indices"] = (chosen + OFFSETS[split]).astype(np.int32)
    np.savez_compressed(OUTPUT, **arrays)
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size:,} bytes")


def balanced(
    labels: NDArray[np.uint8], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """`[count]`: distinct places, ascending, as many of every class."""
    share = count // CLASS_COUNT
    chosen = [
        generator.choice(np.flatnonzero(labels == label), share, replace=False)
        for label in range(CLASS_COUNT)
    ]
    return np.sort(np.concatenate(chosen))


if __name__ == "__main__":
    main()
