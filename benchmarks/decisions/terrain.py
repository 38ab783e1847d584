"""Shortest paths through generated terrain, read from pictures by a convolutional network.

Each tile of a 12 by 12 map has one of five kinds of terrain, by a smooth random height. A picture
shows the colours of the tiles with strong noise. Entering a tile costs what its kind costs. Paths
go right, down or diagonally from the upper left corner to the lower right. The task follows the
Warcraft maps of Vlastelica and others (2020), whose pictures and moves are different.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import interpolate

from structured_vae import Paths

from .task import Data, Task

SIDE = 12
TILE = 4
"""Pixels of a tile's side."""

COSTS = torch.tensor([0.8, 1.2, 5.3, 7.7, 9.2])
"""Costs of the five kinds of terrain, those of Warcraft."""

COLOURS = torch.tensor(
    [[0.9, 0.8, 0.5], [0.4, 0.7, 0.3], [0.1, 0.5, 0.2], [0.2, 0.4, 0.8], [0.5, 0.5, 0.5]]
)
NOISE = 0.6
"""Standard deviation of the noise of a pixel."""


def terrain_paths() -> Paths:
    """Return the paths that go right, down or diagonally."""
    arcs = []
    for row in range(SIDE):
        for column in range(SIDE):
            for down, right in ((0, 1), (1, 0), (1, 1)):
                if row + down < SIDE and column + right < SIDE:
                    start = row * SIDE + column
                    arcs.append((start, start + down * SIDE + right))
    return Paths(arcs, 0, SIDE * SIDE - 1)


PATHS = terrain_paths()
ENTERED = torch.as_tensor(PATHS.arcs)[:, 1]
"""The tile that each arc enters."""


def data(count: int, degree: int, seed: int) -> Data:
    """Return pictures `[count, 3, pixels, pixels]` and the costs of arcs."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randn((count, 1, 5, 5), generator=generator)
    heights = interpolate(coarse, size=(SIDE, SIDE), mode="bicubic", align_corners=True)[:, 0]
    limits = torch.tensor([-0.7, -0.2, 0.2, 0.7])
    kinds = torch.bucketize(heights.contiguous(), limits)
    colours = COLOURS[kinds].permute(0, 3, 1, 2)
    pictures = interpolate(colours, scale_factor=TILE, mode="nearest")
    pictures = pictures + NOISE * torch.randn(pictures.shape, generator=generator)
    costs = COSTS[kinds].flatten(1)
    return Data(pictures, costs[:, ENTERED], PATHS)


class Reader(nn.Module):
    """Predicts the cost of each tile, and with it those of the arcs that enter it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, TILE, stride=TILE),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the costs `[batch, arcs]` of pictures `[batch, 3, pixels, pixels]`."""
        tiles: torch.Tensor = self.layers(pictures)
        return tiles.flatten(1)[:, ENTERED]


TASK = Task(
    -1.0,
    data,
    lambda _: Reader(),
    epochs=20,
    rates=(0.01, 0.03),
    without=("ArgmaxLayer, cost=", "ArgmaxLayer, cost=, noise"),
)
