r"""
Segment images by a minimum cut
===============================

This example separates objects from the background in noisy images. Every pixel has a score, and
neighbours get a reward for being equal. The best of all :math:`2^{784}` segmentations is a minimum
cut. ``solve`` finds it for a batch of images in one call, and proves that it is the best one.
"""

# %%
# The images
# ----------
#
# We take six black-and-white images of Fashion-MNIST, which come with the package. We add noise
# with a standard deviation of 0.8.

import matplotlib.pyplot as plt
import numpy as np

from solvers import solve
from structured_vae import load_dataset

random = np.random.default_rng(0)
test = load_dataset("fashion-mnist-mini").test
ink = test.images.mean(axis=1)
chosen = [np.flatnonzero((test.labels == label) & (ink > 0.25))[0] for label in (0, 1, 3, 7, 8, 9)]
truth = test.images[chosen].astype(int)  # [batch, pixels]
noise = 0.8
noisy = truth + noise * random.standard_normal(truth.shape)

# %%
# The scores
# ----------
#
# The unary score of a pixel compares two log-likelihoods of its grey value :math:`x_i`: that of an
# object pixel minus that of a background pixel.
#
# .. math:: u_i = \frac{x_i^2 - (x_i - 1)^2}{2 \sigma^2} = \frac{2 x_i - 1}{2 \sigma^2}.
#
# Two equal neighbours get a reward :math:`r`. As a formula, this reward is :math:`r\,(1 - z_i - z_j
# + 2 z_i z_j)`. So each pair has the pairwise score :math:`2r`, and each of its two pixels loses
# :math:`r`. A minimum cut finds the best state of any problem whose pairwise scores are not
# negative; see :doc:`/choose_a_solver`.

side = 28
pixel = np.arange(side**2).reshape(side, side)
across = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
edges = np.concatenate([across, down])
neighbours = np.bincount(edges.ravel())


def segmented(reward):
    unary = (2 * noisy - 1) / (2 * noise**2) - reward * neighbours
    return solve(unary, np.full(len(edges), 2 * reward), edges=edges)


solution = segmented(reward=1.0)
print(f"{solution.z.shape[0]} images of {solution.z.shape[1]} pixels by {solution.solver}")
print(f"{solution.optimal.sum()} of {len(solution.optimal)} states are proved to be the best")

# %%
# The segmentations
# -----------------
#
# Compare each row with the last one. Without neighbours, noise stays in the whole image. The
# minimum cut removes it, and keeps the outlines.

alone = segmented(reward=0.0)
rows = {
    "noisy image": noisy,
    "each pixel alone": alone.z,
    "minimum cut": solution.z,
    "truth": truth,
}
figure, grid = plt.subplots(len(rows), len(chosen), figsize=(8, 5.6))
for axes, (name, images) in zip(grid, rows.items(), strict=True):
    axes[0].set_ylabel(name)
    for place, image in zip(axes, images, strict=True):
        place.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        place.set(xticks=[], yticks=[])

# %%
# How much smoothing
# ------------------
#
# The curve shows the share of wrong pixels for 13 rewards. Without a reward, every pixel decides
# for itself. A reward that is too large removes thin parts, such as straps.

rewards = np.linspace(0, 3, 13)
errors = [(segmented(reward).z != truth).mean() for reward in rewards]
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(rewards, 100 * np.array(errors), "o-")
axes.set(xlabel="reward for equal neighbours", ylabel="wrong pixels (%)", ylim=0)
print(f"{100 * errors[0]:.1f} % wrong without a reward, {100 * min(errors):.1f} % at the best")
