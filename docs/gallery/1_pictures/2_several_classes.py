r"""
Segment an image into several classes
=====================================

Which of several materials is each pixel of a noisy image? Every pixel has a score for each class,
and neighbours get a reward for being of the same one: the Potts model. With three classes or more
the best segmentation is no minimum cut any more. ``solvers.labels.solve`` finds it all the same,
and says how far from the best it can be.
"""

# %%
# An image
# --------
#
# Five grey values on 80 by 100 pixels, under noise that is wider than the steps between them.

import matplotlib.pyplot as plt
import numpy as np

from solvers.labels import gibbs, solve

random = np.random.default_rng(0)
height, width, classes = 80, 100, 5
row, column = np.mgrid[:height, :width]
truth = np.zeros((height, width), int)
truth[row > 45 + 8 * np.sin(column / 9)] = 1
truth[(row - 25) ** 2 + (column - 28) ** 2 < 300] = 4
truth[(np.abs(row - 52) < 14) & (np.abs(column - 70) < 16)] = 2
truth[(row - 52) ** 2 + (column - 70) ** 2 < 60] = 3
truth[np.abs(row - column + 30) < 4] = 3
sigma = 0.9
image = truth + sigma * random.standard_normal(truth.shape)

# %%
# The scores
# ----------
#
# The unary score of a class is the log-likelihood of the grey value,
# :math:`-(x_i - c)^2 / 2 \sigma^2`. Equal neighbours score more, which ``potts`` says for all edges
# at once.

unary = -((image.ravel()[:, None] - np.arange(classes)) ** 2) / (2 * sigma**2)
pixel = np.arange(truth.size).reshape(truth.shape)
across = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
edges = np.concatenate([across, down])


def segmented(reward, seconds=2.0):
    return solve(unary, potts=reward, edges=edges, time_limit=seconds)


solution = segmented(1.2)
gap = float(solution.bound - solution.score) / abs(float(solution.score))
print(
    f"{solution.solver}: score {float(solution.score):.2f}, none is above {float(solution.bound):.2f}"
)
print(f"gap {100 * gap:.4f} %")

# %%
# What it finds
# -------------

alone = unary.argmax(axis=1)
pictures = {
    "noisy image": image,
    "each pixel alone": alone,
    "neighbours together": solution.labels,
    "truth": truth,
}
figure, panels = plt.subplots(1, len(pictures), figsize=(10, 2.5))
for axes, (name, picture) in zip(panels, pictures.items(), strict=True):
    axes.imshow(np.reshape(picture, truth.shape), cmap="viridis", vmin=0, vmax=classes - 1)
    axes.set(xticks=[], yticks=[], title=name)
figure.tight_layout()
for name in ("each pixel alone", "neighbours together"):
    print(f"{name}: {100 * np.mean(pictures[name] != truth.ravel()):.1f} % wrong")

# %%
# How sure it is
# --------------
#
# The marginals of :math:`p(x) = \exp(\text{score}(x)) / Z` say where another class is nearly as
# likely. Their sums are out of reach on an image, so this is loopy belief propagation: an estimate,
# and no bound on anything. ``method="trw"`` and ``method="mean_field"`` enclose :math:`\log Z`.

reward = 1.2
found = {
    method: gibbs(unary, potts=reward, edges=edges, method=method)
    for method in ("loopy", "trw", "mean_field")
}
for method, each in found.items():
    print(f"{method}: log Z {float(each.log_partition):.1f}, {each.bound or 'no'} bound")
figure, axes = plt.subplots(figsize=(4, 3))
sure = found["loopy"].unary_marginals.max(axis=1)
shown = axes.imshow(sure.reshape(truth.shape), cmap="gray", vmin=1 / classes, vmax=1)
axes.set(xticks=[], yticks=[], title="probability of the likeliest class")
figure.colorbar(shown)
