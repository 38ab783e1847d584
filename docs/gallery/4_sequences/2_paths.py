r"""
Learn what paths cost
=====================

In this example, the cheapest path through a grid depends on five features. A network sees the
features, and predicts a score for each arc of the grid. It never sees the true costs, but only
which paths were taken. It learns to make these paths likely, under the exact Gibbs distribution
over all paths.
"""

# %%
# Paths as a structure
# --------------------
#
# ``grid_paths`` is the set of all paths from one corner to the other. A state has one bit per arc.
# The structure finds the path of highest score by dynamic programming. The same program computes
# log Z, marginals and samples. With scores of 0, log Z is the logarithm of the number of paths.

import matplotlib.pyplot as plt
import torch

from structured_vae import GibbsLikelihood, grid_paths

SIDE = 8
paths = grid_paths(SIDE, SIDE)
generator = torch.Generator().manual_seed(0)
n = len(paths.arcs)
print(f"{n} arcs, {paths.gibbs(torch.zeros(n).double()).log_partition.exp():.0f} paths")

# %%
# Data
# ----
#
# The costs are a hidden, non-linear function of the five features. A training example has the
# features and the path of lowest cost.


matrix = torch.bernoulli(torch.full((5, n), 0.5), generator=generator)


def costs(x):
    return ((x @ matrix) / 5**0.5 + 3) ** 3 / 27


x, test = torch.randn(500, 5, generator=generator), torch.randn(200, 5, generator=generator)
taken = paths.argmax(-costs(x))

# %%
# Training
# --------
#
# ``GibbsLikelihood`` is the negative log-likelihood of a path. It is convex in the scores. We
# measure the *regret* on new data: how much more the predicted paths cost than the cheapest ones,
# in percent.


def regret(net):
    least = (costs(test) * paths.argmax(-costs(test))).sum()
    with torch.no_grad():
        return ((costs(test) * paths.argmax(net(test))).sum() / least - 1).item()


torch.manual_seed(0)
net, loss = torch.nn.Linear(5, n), GibbsLikelihood(paths)
adam, curve = torch.optim.Adam(net.parameters(), lr=0.1), []
for _ in range(60):
    curve.append(100 * regret(net))
    rows = torch.randint(500, (64,), generator=generator)
    value = loss(net(x[rows]), target=taken[rows]).mean()
    adam.zero_grad()
    value.backward()
    adam.step()
print(f"regret: {curve[0]:.0f} % before, {curve[-1]:.1f} % after {len(curve)} steps")

# %%
# Marginals of a path
# -------------------
#
# On the left, the regret falls during the training. On the right is one test example. The width of
# a grey arc is its marginal: the probability that the path takes it. The red path is the cheapest
# one. It should lie on wide arcs.

p = paths.gibbs(net(test[:1]))
best = paths.argmax(-costs(test[:1]))[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
left.plot(curve)
left.set(xlabel="steps", ylabel="regret (%)", ylim=(0, None))
for (tail, head), probability, one in zip(
    paths.arcs, p.marginals[0].tolist(), best.tolist(), strict=True
):
    ends = [(node % SIDE, node // SIDE) for node in (tail, head)]
    right.plot(*zip(*ends, strict=True), color="0.7", linewidth=8 * probability)
    if one:
        right.plot(*zip(*ends, strict=True), color="C3", linewidth=1)
right.invert_yaxis()
right.set(xticks=[], yticks=[], aspect="equal")
