r"""
Show where a segmentation is uncertain
======================================

The best segmentation does not show which of its pixels are doubtful. This example also computes the
marginal of each pixel: the probability that it belongs to an object. A marginal adds up the
probabilities of all segmentations in which the pixel is an object. On a narrow image these sums are
exact.
"""

# %%
# A disc and a bar under noise
# ----------------------------
#
# The image has only 12 rows, so that elimination can sum over all :math:`2^{480}` states exactly.
# As in the first example, each pixel has a score from its noisy value. Neighbours get a reward for
# being equal.

import matplotlib.pyplot as plt
import numpy as np

from solvers import gibbs, solve

random = np.random.default_rng(0)
height, width = 12, 40
row, column = np.mgrid[:height, :width]
disc = (row - 6) ** 2 + (column - 11) ** 2 < 18
bar = (abs(row - 5) < 3) & (abs(column - 28) < 7)
truth = disc | bar
image = truth + 0.8 * random.normal(size=truth.shape)
place = np.arange(height * width).reshape(height, width)
across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
edges = np.concatenate([across, down])
reward = 0.9
unary = (image.ravel() - 0.5) / 0.8**2
# reward [z_i = z_j] = reward (1 - z_i - z_j + 2 z_i z_j)
np.subtract.at(unary, edges.ravel(), reward)
pairwise = np.full(len(edges), 2 * reward)

# %%
# The best state, and the distribution around it
# ----------------------------------------------
#
# ``solve`` finds the best segmentation and proves it. ``gibbs`` returns the distribution in which a
# state has a probability proportional to :math:`e^\text{score}`. It has exact marginals and exact
# samples.

best = solve(unary, pairwise, edges=edges)
p = gibbs(unary, pairwise, edges=edges)
probability = p.unary_marginals.reshape(height, width)
samples = p.sample(random.random((2, height * width))).reshape(2, height, width)
print(f"best score {best.score:.1f} by {best.solver}, proved: {best.optimal}")
print(f"log Z {float(p.log_partition):.1f}")

# %%
# Doubt
# -----
#
# A marginal near one half means doubt. We measure doubt from 0 (the marginal is 0 or 1) to 1 (it is
# one half). Its mean is higher where the best segmentation is wrong.

wrong = best.z.reshape(height, width) != truth
doubt = 1 - np.abs(2 * probability - 1)
print(f"{wrong.sum()} of {wrong.size} pixels are wrong")
print(f"mean doubt: {doubt[wrong].mean():.2f} there, {doubt[~wrong].mean():.2f} elsewhere")

# %%
# In the picture of the marginals, black pixels are background and bright ones are object. The
# colours between them, at the outlines, are doubtful. The two samples differ mostly there.

pictures = {
    "image": image,
    "best state": best.z.reshape(height, width),
    "P(object)": probability,
    "a sample": samples[0],
    "another sample": samples[1],
    "truth": truth,
}
figure, grid = plt.subplots(3, 2, figsize=(8, 4.2))
for axes, (name, values) in zip(grid.flat, pictures.items(), strict=True):
    colours = "gray_r"
    if name == "P(object)":
        colours = "magma"
    axes.imshow(values, cmap=colours, vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[], title=name)
