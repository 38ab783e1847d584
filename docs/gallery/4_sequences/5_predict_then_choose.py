r"""
Predict, then choose, with PyEPO
================================

In this example a network predicts the worth of items and of pairs of items. The set with the
highest predicted worth is then chosen. What matters is the true worth of this set, and not the
error of the prediction. This task is called *decision-focused learning*. `PyEPO
<https://github.com/khalil-research/PyEPO>`_ trains the network, and a solver of this library
chooses the sets. The example is for users of PyEPO.
"""

# %%
# Data
# ----
#
# Eight items form a ring. Each item has a worth, and each pair of neighbours has one too. All these
# numbers are hidden functions of six features. ``PairwiseModel`` gives the choice of the best set
# to PyEPO, as one of its optimisation models.

import matplotlib.pyplot as plt
import torch
from pyepo.data.dataset import optDataset
from pyepo.func import SPOPlus
from pyepo.metric import regret

from solvers.adapters.pyepo import PairwiseModel

N = 8
model = PairwiseModel(edges=[[i, (i + 1) % N] for i in range(N)], n=N)
generator = torch.Generator().manual_seed(0)
matrix = torch.randn(6, model.num_cost, generator=generator)


def worth(x):
    return (torch.tanh(x @ matrix) + 0.3 * (x @ matrix) ** 3 / 6).numpy()


x, test = torch.randn(200, 6, generator=generator), torch.randn(200, 6, generator=generator)
seen = torch.utils.data.DataLoader(optDataset(model, x.numpy(), worth(x)), batch_size=20)
unseen = torch.utils.data.DataLoader(optDataset(model, test.numpy(), worth(test)), batch_size=200)

# %%
# Two losses for a linear model
# -----------------------------
#
# We train the same linear model twice. The first loss is the squared error of the predicted worths.
# The second one is PyEPO's *SPO+*; see :doc:`/pyepo`. It solves a choice in every step, and bounds
# the worth that a wrong prediction loses.


def trained(loss_of, epochs=12):
    torch.manual_seed(0)
    net = torch.nn.Linear(6, model.num_cost)
    adam = torch.optim.Adam(net.parameters(), lr=0.03)
    curve = [100 * regret(net, model, unseen)]
    for _ in range(epochs):
        for features, costs, decisions, values in seen:
            adam.zero_grad()
            loss_of(net(features), costs, decisions, values).backward()
            adam.step()
        curve.append(100 * regret(net, model, unseen))
    return curve


def squared_error(predicted, costs, *_):
    return (predicted - costs).square().mean()


curves = {"squared error": trained(squared_error), "SPO+": trained(SPOPlus(model, processes=1))}
for name, curve in curves.items():
    print(f"regret with {name}: {curve[0]:.1f} % before the training, {curve[-1]:.1f} % after it")

# %%
# Regret on new data
# ------------------
#
# The *regret* is how much less the chosen sets are worth than the best ones, in percent. Both
# losses reduce it. SPO+ reaches a lower regret, because it trains the choice itself.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, curve in curves.items():
    axes.plot(curve, label=name)
axes.set(xlabel="epochs", ylabel="regret (%)", ylim=(0, None))
axes.legend(frameon=False)
plt.show()
