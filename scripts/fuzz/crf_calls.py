"""The public calls of conditional random fields."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from structured_vae import LinearChainCRF, PairwiseCRF

from .draws import Draw
from .values import perhaps


def _linear_chain(draw: Draw, folder: Path) -> Callable[[], Any]:
    k, batch, length = draw.whole(1, 4), draw.whole(1, 3), draw.whole(1, 5)
    lengths = draw.random.integers(1, length + 1, batch)
    emissions = torch.from_numpy(draw.random.standard_normal((batch, length, k)))
    tags = torch.from_numpy(draw.random.integers(k, size=(batch, length)))
    mask = torch.arange(length) < torch.from_numpy(lengths)[:, None]
    given = {
        "emissions": emissions.to(draw.of((torch.float32, torch.float64, torch.float16))),
        "tags": tags,
    }
    given["mask"] = mask if draw.chance(0.7) else None
    given = {name: perhaps(draw, value, 0.1) for name, value in given.items()}
    reduction = perhaps(draw, draw.of(("none", "sum", "mean", "token_mean")), 0.05)
    made = perhaps(draw, k, 0.1)

    def call() -> None:
        crf = LinearChainCRF(made, batch_first=True)
        unlabelled = {name: value for name, value in given.items() if name != "tags"}
        crf.decode(**unlabelled)
        crf.marginals(**unlabelled).sum().backward()
        crf(**given, reduction=reduction).sum().backward()

    return call


def _pairwise(draw: Draw, folder: Path) -> Callable[[], Any]:
    n, k = draw.whole(2, 4), draw.whole(1, 3)
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = pairs[draw.random.random(len(pairs)) < 0.7]
    given = {"n": n, "k": k, "edges": edges, "groups": draw.of((None, np.arange(len(edges))))}
    given = {name: perhaps(draw, value, 0.08) for name, value in given.items()}
    unary = perhaps(draw, torch.from_numpy(draw.random.standard_normal((2, n, k))), 0.1)
    target = perhaps(draw, torch.from_numpy(draw.random.integers(k, size=(2, n))), 0.1)

    def call() -> None:
        crf = PairwiseCRF(**given)
        crf.decode(unary)
        crf.marginals(unary)
        crf(unary, target).backward()

    return call


CRF_CALLS: Final = {
    "LinearChainCRF": (6, _linear_chain),
    "PairwiseCRF": (4, _pairwise),
}
"""Weight and maker of each, by the name that the report gives it."""
