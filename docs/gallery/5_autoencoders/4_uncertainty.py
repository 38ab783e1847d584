r"""
How sure a segmentation is
==========================

The best state says what is most probable as a whole, and nothing of how sure it is. The marginals
of the same scores do, exactly: the probability of every pixel of being object, given all the others
that it may have.
"""

# %%
# A noisy disc
# ------------
#
# A band of 12 rows, so that elimination sums over all :math:`2^{480}` states exactly. Pixels have a
# score from their noisy value, neighbours a reward for being equal.

import matplotlib.pyplot as plt
import numpy as np

from solvers import gibbs, solve

random = np.random.default_rng(0)
height, width = 12, 40
row, column = np.mgrid[:height, :width]
truth = ((row - 6) ** 2 + (column - 11) ** 2 < 18) | ((abs(row - 5) < 3) & (abs(column - 28) < 7))
image = truth + 0.8 * random.normal(size=truth.shape)
place = np.arange(height * width).reshape(height, width)
edges = np.concatenate(
    [
        np.stack([place[:, :-1], place[:, 1:]], -1).reshape(-1, 2),
        np.stack([place[:-1], place[1:]], -1).reshape(-1, 2),
    ]
)
reward = 0.9
unary = (image.ravel() - 0.5) / 0.8**2
# reward [z_i = z_j] = reward (1 - z_i - z_j + 2 z_i z_j)
np.subtract.at(unary, edges.ravel(), reward)
pairwise = np.full(len(edges), 2 * reward)

# %%
# The best state, and what surrounds it
# -------------------------------------
#
# One call finds the best segmentation with a proof, another one the marginals and exact samples.

best = solve(unary, pairwise, edges=edges)
p = gibbs(unary, pairwise, edges=edges)
probability = p.unary_marginals.reshape(height, width)
samples = p.sample(random.random((3, height * width))).reshape(3, height, width)
print(
    f"proved: {bool(best.optimal)} by {best.solver}; log Z {float(p.log_partition):.1f}, score {float(best.score):.1f}"
)

# %%
# Where pixels are wrong, the marginals are near one half: they know it.

wrong = best.z.reshape(height, width) != truth
doubt = 1 - np.abs(2 * probability - 1)
print(
    f"{wrong.sum()} wrong pixels; mean doubt {doubt[wrong].mean():.2f} there, {doubt[~wrong].mean():.2f} elsewhere"
)

shown = {
    "image": image,
    "best state": best.z.reshape(height, width),
    "P(object)": probability,
    "a sample": samples[0],
}
shown |= {"another sample": samples[1], "truth": truth}
figure, grid = plt.subplots(3, 2, figsize=(8, 4.2))
for axes, (name, values) in zip(grid.flat, shown.items(), strict=True):
    axes.imshow(values, cmap="magma" if name == "P(object)" else "gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[], title=name)
