r"""
See depth in two images
=======================

A point that is near lies further left in the right eye's image than one that is far. How far, the
disparity, is a label of each pixel; that neighbours mostly have the same depth is a table for each
pair. One kind of table makes the best disparities a minimum cut, which is proved. Tables that let
depth jump at the border of a thing are hard, and the answer has a bound.
"""

# %%
# A random-dot stereogram
# -----------------------
#
# Dots that mean nothing to either eye alone (Julesz, 1960): the right image is the left one,
# shifted by the disparity, with dots of its own where a thing hides what is behind it, and noise.

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
# Of a disparity :math:`d`, each pixel scores by how many dots around it agree with those :math:`d`
# to the left in the other image.


def smoothed(values):
    padded = np.pad(values, 1, mode="edge")
    return sum(padded[i : i + height, j : j + width] for i in range(3) for j in range(3)) / 9


unary = np.zeros((height, width, k))
for disparity in range(k):
    equal = np.zeros((height, width))
    equal[:, disparity:] = left[:, disparity:] == right[:, : width - disparity]
    unary[:, :, disparity] = 4 * smoothed(equal)
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
# A cost for each step of disparity between neighbours is convex in the order of the labels, and so
# a minimum cut (Ishikawa, 2003). One that stops growing at two steps leaves borders where they are,
# but needs a search.

every_step = solve(unary, -0.5 * steps, edges=edges)
at_most_two = solve(unary, -0.5 * np.minimum(steps, 2), edges=edges, time_limit=3.0)
for name, found in (("every step", every_step), ("at most two", at_most_two)):
    gap = float(found.bound - found.score) / float(found.bound)
    print(
        f"{name}: {found.solver}, gap {100 * gap:.3f} %, proved: {bool(found.optimal)}, "
        f"{100 * np.mean(np.abs(found.labels - truth.ravel()) > 1):.1f} % of pixels off by more than one"
    )

# %%
# What it sees
# ------------

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
    images = "image" in name
    axes.imshow(
        np.reshape(picture, truth.shape),
        cmap="gray" if images else "viridis",
        vmin=0,
        vmax=1 if images else k,
    )
    axes.set(xticks=[], yticks=[], title=name)
figure.tight_layout()
