r"""
Estimate depth from two images
==============================

This example estimates the depth of every pixel from the images of two cameras. Between the two
images, near points shift more than far ones. The shift of a pixel, its *disparity*, is its label. A
table for each pair of neighbours rewards similar disparities. We compare two such tables. The first
one makes the problem easy: a minimum cut solves it. The second one keeps the borders of objects
sharper, but needs a search. ``solve`` proves both answers.
"""

# %%
# A random-dot stereogram
# -----------------------
#
# The left image consists of random dots, so neither image shows a shape by itself (Julesz, 1960).
# In the right image, each dot is shifted to the left by its disparity. Near objects hide the
# objects behind them. Where no dot arrives, the right image has a random one. Finally, noise flips
# 5% of the dots.

import matplotlib.pyplot as plt
import numpy as np

from solvers.labels import solve

random = np.random.default_rng(0)
height, width, k = 60, 90, 9
row, column = np.mgrid[:height, :width]
truth = np.where(column > 45, 1 + row // 20, 1)  # stairs
truth[(row - 30) ** 2 + (column - 28) ** 2 < 400] = 6
truth[(row - 30) ** 2 + (column - 28) ** 2 < 90] = 8

left = random.integers(0, 2, (height, width)).astype(float)
right = random.integers(0, 2, (height, width)).astype(float)
for disparity in range(k):  # the near ones last: they hide the others
    y, x = np.nonzero((truth == disparity) & (column >= disparity))
    right[y, x - disparity] = left[y, x]
flipped = random.random(right.shape) < 0.05
right = np.where(flipped, 1 - right, right)

# %%
# The scores
# ----------
#
# The score of disparity :math:`d` at a pixel counts equal dots. It compares the 3 by 3 dots around
# the pixel with the dots that lie :math:`d` places further left in the right image.


def window_sums(values):
    padded = np.pad(values, 1, mode="edge")
    return sum(padded[i : i + height, j : j + width] for i in range(3) for j in range(3))


unary = np.zeros((height, width, k))
for disparity in range(k):
    equal = np.zeros((height, width))
    equal[:, disparity:] = left[:, disparity:] == right[:, : width - disparity]
    unary[:, :, disparity] = window_sums(equal)
unary = unary.reshape(-1, k)
pixel = np.arange(height * width).reshape(height, width)
across = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
edges = np.concatenate([across, down])
steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))

# %%
# Two tables
# ----------
#
# In the first table, every step of disparity between two neighbours costs 1. This cost is convex in
# the order of the labels, so a minimum cut finds the best disparities (Ishikawa, 2003). In the
# second table, a pair costs at most 2, however large the jump is. Borders of objects are then
# cheap. No minimum cut solves this problem, so ``solve`` searches. The time limit is three seconds.
# If the search did not end in time, ``gap`` would be the distance between the score and its upper
# bound.

every_step = solve(unary, -steps, edges=edges)
at_most_two = solve(unary, -np.minimum(steps, 2), edges=edges, time_limit=3.0)
for name, solution in (("every step", every_step), ("at most two", at_most_two)):
    wrong = np.abs(solution.labels - truth.ravel()) > 1
    print(
        f"{name}: {solution.solver}, gap {100 * solution.gap / solution.bound:.3f} %, "
        f"proved: {solution.optimal}"
    )
    print(f"    disparity wrong by more than one: {100 * wrong.mean():.1f} % of the pixels")

# %%
# The disparities
# ---------------
#
# In the three pictures of disparities and in the truth, bright pixels are near. Without neighbours,
# many pixels are wrong. Both tables remove nearly all of this noise. The capped table leaves fewer
# wrong pixels, for example at the left edge of the stairs.

pictures = {
    "left image": left,
    "right image": right,
    "each pixel alone": unary.argmax(axis=1),
    "every step costs": every_step.labels,
    "at most two steps": at_most_two.labels,
    "truth": truth,
}
figure, panels = plt.subplots(2, 3, figsize=(9, 4.4))
for axes, (name, picture) in zip(panels.flat, pictures.items(), strict=True):
    colours = {"cmap": "viridis", "vmin": 0, "vmax": k}
    if "image" in name:
        colours = {"cmap": "gray", "vmin": 0, "vmax": 1}
    axes.imshow(np.reshape(picture, truth.shape), **colours)
    axes.set(xticks=[], yticks=[], title=name)
figure.tight_layout()
