"""Draws the landing page's figure from a trained run: image, scores, argmax, decoded image.

`structured-vae train --encoder general --estimator score_function --recipe elbo --epochs 40 --learning_rate 0.002
--run RUN`, then `python docs/figures/pipeline.py RUN`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure

from models import DiscreteVAE
from solvers import solve
from structured_vae import load_dataset, load_vae

PICTURE = Path(__file__).parents[1] / "_static" / "pipeline.png"
TITLES = ("image", "scores", "argmax", "decoded")
LABELS = (9, 1, 8)
"""Classes of the images: a boot, trousers, a bag."""


@torch.no_grad()
def draw(vae: DiscreteVAE) -> Figure:
    test = load_dataset("fashion-mnist-mini").test
    images = torch.from_numpy(
        test.images[[int((test.labels == label).argmax()) for label in LABELS]]
    )
    potentials = vae.encoder(images)
    z = solve(potentials.unary, potentials.pairwise, edges=potentials.edges).z.float()
    decoded = vae.decoder(z).sigmoid()
    scores = torch.diag_embed(potentials.unary)
    first, second = potentials.edges.T
    scores[:, first, second] = scores[:, second, first] = potentials.pairwise
    figure = Figure(figsize=(5.6, 4.4), layout="constrained")
    grid = figure.subplots(len(LABELS), len(TITLES))
    for axes, title in zip(grid[0], TITLES, strict=True):
        axes.set_title(title, fontsize=13)
    largest = float(scores.abs().max()) / 2  # a few scores are far larger than the others
    for axes, image, matrix, bits, mean in zip(grid, images, scores, z, decoded, strict=True):
        axes[0].imshow(image.reshape(28, 28), cmap="gray_r")
        axes[1].imshow(matrix, cmap="RdBu", vmin=-largest, vmax=largest)
        axes[2].imshow(bits.reshape(5, 3), cmap="gray_r", vmin=0, vmax=1)
        axes[2].set(xticks=[0.5, 1.5], yticks=[0.5, 1.5, 2.5, 3.5])
        axes[2].grid(color="0.6", linewidth=0.8)
        axes[3].imshow(mean.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        for place in axes:
            place.tick_params(length=0, labelbottom=False, labelleft=False)
            if place is not axes[2]:
                place.set(xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    draw(load_vae(sys.argv[1])).savefig(PICTURE, dpi=160)
    print(f"written: {PICTURE}")
