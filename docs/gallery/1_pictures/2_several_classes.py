r"""
Segment an image into several classes
=====================================

This example segments a noisy image into five classes. Every pixel has a score for each class, and
neighbours get a reward for having the same class. This is the *Potts model*. From three classes on,
a minimum cut cannot find the best segmentation. ``solvers.labels.solve`` searches for it, and
returns an upper bound on the score of all segmentations.
"""

# %%
# An image
# --------
#
# The image has 80 by 100 pixels. The grey values of neighbouring classes differ by 1, and the noise
# has a standard deviation of 0.9. One pixel alone therefore says little about its class.

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
# The unary score of class :math:`c` is the log-likelihood of the grey value :math:`x_i`, which is
# :math:`-(x_i - c)^2 / 2 \sigma^2`. The argument ``potts`` is the reward for equal neighbours, for
# all edges at once. No segmentation has a higher score than ``bound``. If score and bound are
# equal, the segmentation is proved to be the best one.

unary = -((image.ravel()[:, None] - np.arange(classes)) ** 2) / (2 * sigma**2)
pixel = np.arange(truth.size).reshape(truth.shape)
across = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
edges = np.concatenate([across, down])


reward = 1.2
solution = solve(unary, potts=reward, edges=edges, time_limit=2.0)
print(f"{solution.solver}: score {solution.score:.2f}, bound {solution.bound:.2f}")
print(f"gap {100 * solution.gap / abs(solution.score):.4f} %")

# %%
# The segmentation
# ----------------
#
# The second picture takes the best class of each pixel alone, and is full of noise. The third one
# is the answer of ``solve``. The last line says how many of its pixels are wrong.

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
# Where the segmentation is uncertain
# -----------------------------------
#
# The *Gibbs distribution* gives a labelling :math:`y` the probability :math:`\exp(\text{score}(y))
# / Z`. Its marginals show where a second class is nearly as likely. On an image, exact sums take
# too long, so we compare three estimates. ``trw`` gives an upper bound on :math:`\log Z`, and
# ``mean_field`` a lower bound. ``loopy`` belief propagation gives neither.

estimates = {
    method: gibbs(unary, potts=reward, edges=edges, method=method)
    for method in ("loopy", "trw", "mean_field")
}
for method, estimate in estimates.items():
    print(f"{method}: log Z {float(estimate.log_partition):.1f}, {estimate.bound or 'no'} bound")

# %%
# The picture shows the largest marginal of each pixel. Dark pixels are uncertain: they lie at the
# borders of the shapes.

figure, axes = plt.subplots(figsize=(4, 3))
certainty = estimates["loopy"].unary_marginals.max(axis=1)
shown = axes.imshow(certainty.reshape(truth.shape), cmap="gray", vmin=1 / classes, vmax=1)
axes.set(xticks=[], yticks=[], title="probability of the likeliest class")
figure.colorbar(shown)
