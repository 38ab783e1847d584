"""Perfect matchings of a grid of digits, read from MNIST.

The task is that of Vlastelica and others (2020): every cell of a 4 by 4 grid shows a digit, and the
edge from a cell to its right or lower neighbour costs the number of two digits that they show. The
decision pairs all cells at the least cost. Costs are divided by ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import nn

from structured_vae import Assignments, StateSpace, grid_paths, load_dataset

from .task import Data, Task

SIDE = 4
PIXELS = 28 * 28
HIDDEN = 64

EDGES = torch.as_tensor(grid_paths(SIDE, SIDE).arcs)
"""The cells of each edge, `[edges, 2]`, the left or upper one first."""


@dataclass(frozen=True)
class GridMatchings(StateSpace):
    """The perfect matchings of the grid; z_i is 1 where edge i pairs its cells.

    Cells are coloured like a chessboard. An edge joins cells of both colours, so a perfect matching
    is an assignment of the white cells to the black ones that uses edges only.
    """

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a matching of highest score `[..., batch, edges]`."""
        half = SIDE * SIDE // 2
        table = scores.new_zeros((*scores.shape[:-1], half * half))
        table[..., _places()] = scores
        allowed = torch.zeros(half * half, dtype=torch.bool)
        allowed[_places()] = True
        assigned = Assignments(half).argmax(table, allowed.expand(table.shape))
        return assigned[..., _places()]


def _places() -> torch.Tensor:
    """Return the places `[edges]` of the edges among all pairs of white and black cells."""
    row = EDGES // SIDE
    column = EDGES % SIDE
    black = (row + column) % 2
    number = EDGES // 2
    first_is_white = black[:, 0] == 0
    white = torch.where(first_is_white, number[:, 0], number[:, 1])
    other = torch.where(first_is_white, number[:, 1], number[:, 0])
    return white * (SIDE * SIDE // 2) + other


@cache
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Return MNIST's training images `[count, pixels]` and their digits."""
    train = load_dataset("mnist", binarisation="none").train
    images = torch.from_numpy(train.images).float().reshape(-1, PIXELS)
    return images, torch.from_numpy(train.labels).long()


def data(count: int, degree: int, seed: int) -> Data:
    """Return digits `[count, cells, pixels]` and the costs of edges."""
    images, labels = digits()
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(len(images), (count, SIDE * SIDE), generator=generator)
    pairs = labels[chosen][:, EDGES].float()
    costs = pairs[..., 0] + pairs[..., 1] / 10
    return Data(images[chosen], costs, GridMatchings())


class Reader(nn.Module):
    """Predicts the cost of an edge from the images of its two cells."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ReLU())
        self.edge = nn.Sequential(nn.Linear(2 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the costs `[batch, edges]` of images `[batch, cells, pixels]`."""
        cells = self.cell(images)
        costs: torch.Tensor = self.edge(cells[:, EDGES].flatten(2))
        return costs[..., 0]


TASK = Task(-1.0, data, lambda _: Reader(), epochs=15, rates=(0.001, 0.003))
