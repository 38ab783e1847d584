r"""
Learn to choose within constraints
==================================

This example learns from examples which teams are good. A team has one member from each of three
groups, and some members work well together. The model sees features of the people, and predicts a
score for each person and each pair. ``ArgmaxLayer`` then finds the best team by exact search within
the constraints.
"""

# %%
# Data
# ----
#
# There are nine people in three groups, which gives 27 possible teams. The true scores are hidden
# functions of the features. The training data contain only the features and the best teams. The
# layer makes these data, and later predicts teams for new people.

import matplotlib.pyplot as plt
import torch
from torch import nn

from solvers.constraints import one_of
from structured_vae import ArgmaxLayer, StructuredHinge

N, FEATURES = 9, 4
rules = [one_of([0, 1, 2]), one_of([3, 4, 5]), one_of([6, 7, 8])]
generator = torch.Generator().manual_seed(0)
true_unary = torch.randn(FEATURES, generator=generator)
true_pairs = torch.randn(FEATURES, FEATURES, generator=generator)
best_team = ArgmaxLayer(constraints=rules, seed=None)


def scores(x, unary, pairs):
    return x @ unary, torch.einsum("bif,fg,bjg->bij", x, pairs + pairs.T, x).triu(1)


def teams(count):
    x = torch.randn(count, N, FEATURES, generator=generator)
    return x, best_team(*scores(x, true_unary, true_pairs))


# %%
# Train with the structured hinge loss
# ------------------------------------
#
# The best teams are known here, so a loss that compares scores is simpler than a gradient through
# the layer; see :doc:`/losses`. ``StructuredHinge`` takes the same constraints as the layer. We
# train two models. With ``coupled=False``, the model scores only single people and no pairs.


def trained(coupled, steps=40):
    unary = nn.Parameter(torch.zeros(FEATURES))
    pairs = nn.Parameter(torch.zeros(FEATURES, FEATURES))
    loss = StructuredHinge(constraints=rules)
    adam = torch.optim.Adam([unary, pairs], lr=0.1)
    shares = []
    for _ in range(steps):
        of_people, of_pairs = scores(x, unary, pairs)
        if not coupled:
            of_pairs = None
        value = loss(of_people, of_pairs, target=y).mean()
        adam.zero_grad()
        value.backward()
        adam.step()
        of_people, of_pairs = scores(test_x, unary.detach(), pairs.detach())
        if not coupled:
            of_pairs = None
        z = best_team(of_people, of_pairs)
        shares.append((z == test_y).all(dim=-1).float().mean().item())
    return shares


x, y = teams(100)
test_x, test_y = teams(100)
coupled = trained(coupled=True)
alone = trained(coupled=False)
print(f"right teams: {100 * coupled[-1]:.0f} % with pairs, {100 * alone[-1]:.0f} % without")

# %%
# The curves show the share of right teams on new data. The model with pairs predicts many more
# teams right: the best team depends on who works well together.

figure, axes = plt.subplots(figsize=(6, 3.2))
axes.plot([100 * share for share in coupled], label="people and pairs", color="C3")
axes.plot([100 * share for share in alone], label="no pairs", color="0.6")
axes.set(xlabel="steps", ylabel="right teams (%)", ylim=(0, 100))
axes.legend()
