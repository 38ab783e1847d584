"""Learns to segment noisy images by a network whose last layer is a minimum cut.

As a script it trains, prints the share of wrong pixels, and draws the picture of the page
`layer_examples`: `python docs/examples/segmentation.py docs/_static/segmentation.png`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from torch import nn

from structured_vae import ArgmaxLayer, Hamming

SIDE = 16
PIXELS = torch.arange(SIDE**2).reshape(SIDE, SIDE)
EDGES = torch.cat(
    [
        torch.stack([PIXELS[:, :-1].flatten(), PIXELS[:, 1:].flatten()], dim=1),
        torch.stack([PIXELS[:-1].flatten(), PIXELS[1:].flatten()], dim=1),
    ]
)
"""`[e, 2]`: the pairs of neighbours of the grid."""

FIRST, SECOND = EDGES.T


def images(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy images `[count, 1, SIDE, SIDE]` of a disc and a rectangle, and the truth `[count, n]`."""
    row, column = torch.arange(SIDE)[:, None], torch.arange(SIDE)[None, :]

    def uniform(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand((count, 1, 1), generator=generator)

    disc = (row - uniform(3, 12)) ** 2 + (column - uniform(3, 12)) ** 2 < uniform(2, 4) ** 2
    top, left = uniform(0, 10), uniform(0, 10)
    tall, wide = uniform(4, 8), uniform(4, 8)
    rectangle = (row > top) & (row < top + tall) & (column > left) & (column < left + wide)
    truth = (disc | rectangle).float()
    noisy = truth + 0.7 * torch.randn(truth.shape, generator=generator)
    return noisy[:, None], truth.flatten(start_dim=1)


class Segmenter(nn.Module):
    """A score for every pixel, and for every pair of neighbours a reward for being equal."""

    def __init__(self, coupled: bool):
        super().__init__()
        self.score = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
        self.look = nn.Conv2d(1, 1, 3, padding=1)
        self.level = nn.Parameter(torch.tensor(0.0))
        self.coupled = coupled

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Unary scores `[batch, n]`, and pairwise scores `[batch, e]` if coupled."""
        unary = self.score(x).flatten(start_dim=1)
        if not self.coupled:
            return unary, None
        look = self.look(x).flatten(start_dim=1)
        contrast = (look[:, FIRST] - look[:, SECOND]).square()
        reward = nn.functional.softplus(self.level - contrast)
        # reward * [z_i = z_j] = reward * (1 - z_i - z_j + 2 z_i z_j)
        unary = unary.index_add(1, FIRST, -reward).index_add(1, SECOND, -reward)
        return unary, 2 * reward


LAYER = ArgmaxLayer("max_flow", epsilon=1.0)


def segment(net: Segmenter, x: torch.Tensor) -> torch.Tensor:
    """`[batch, n]`: the best segmentation of each image."""
    with torch.no_grad():
        unary, pairwise = net(x)
        return LAYER(unary, pairwise, edges=edges_of(pairwise))


def edges_of(pairwise: torch.Tensor | None) -> torch.Tensor | None:
    return None if pairwise is None else EDGES


def error(net: Segmenter, x: torch.Tensor, truth: torch.Tensor) -> float:
    """The share of wrong pixels."""
    return (segment(net, x) != truth).float().mean().item()


def learn(net: Segmenter, steps: int, generator: torch.Generator) -> None:
    """Minimises the expected number of wrong pixels, by direct optimization."""
    adam = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(steps):
        x, truth = images(32, generator)
        unary, pairwise = net(x)
        estimate = LAYER(
            unary, pairwise, edges=edges_of(pairwise), cost=Hamming(truth), generator=generator
        )
        adam.zero_grad()
        estimate.surrogate.mean().backward()
        adam.step()


def trained(coupled: bool, steps: int = 100) -> Segmenter:
    """A network with weights and images of fixed seeds."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = Segmenter(coupled)
    learn(net, steps, torch.Generator().manual_seed(0))
    return net


def draw(rows: dict[str, torch.Tensor], columns: int) -> Figure:
    """A row of images for each name, in grey."""
    figure = Figure(figsize=(columns, len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, (name, shown) in zip(grid, rows.items(), strict=True):
        axes[0].set_ylabel(name, fontsize=8)
        for each, image in zip(axes, shown, strict=False):
            each.imshow(image.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1)
            each.set(xticks=[], yticks=[])
    return figure


def main(arguments: Sequence[str]) -> None:
    x, truth = images(400, torch.Generator().manual_seed(1))
    nets = {"unary alone": trained(coupled=False), "minimum cut": trained(coupled=True)}
    for name, net in nets.items():
        before = error(trained(net.coupled, steps=0), x, truth)
        print(f"{name}: {before:.3f} before training, {error(net, x, truth):.3f} after")
    rows = {"image": x, **{name: segment(net, x) for name, net in nets.items()}, "truth": truth}
    for path in arguments:
        draw(rows, columns=8).savefig(path, dpi=70)


if __name__ == "__main__":
    main(sys.argv[1:])
