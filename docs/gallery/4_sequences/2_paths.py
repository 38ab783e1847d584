r"""
Learn what paths cost
=====================

A network sees five numbers and predicts what the arcs of a grid cost, so that the shortest path of
its prediction is the one that was taken. It learns from these paths alone, by the likelihood of a
path under an exact Gibbs distribution.
"""

# %%
# Paths as a structure
# --------------------
#
# ``grid_paths`` has the argmax of ``scores [batch, n]`` and, by the same dynamic program, log Z,
# marginals and samples.

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
# The costs are a hidden function of five features; what is seen are the features and the shortest
# path.


matrix = torch.bernoulli(torch.full((5, n), 0.5), generator=generator)


def costs(x):
    return ((x @ matrix) / 5**0.5 + 3) ** 3 / 27


x, test = torch.randn(500, 5, generator=generator), torch.randn(200, 5, generator=generator)
taken = paths.argmax(-costs(x))

# %%
# Training
# --------
#
# The likelihood is convex in the scores. The regret is what the predicted paths cost more than the
# shortest ones.


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
# Where a path may go
# -------------------
#
# The width of an arc is its marginal for one test instance: the probability that the path takes it.
# Red is the shortest path of the true costs.

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
