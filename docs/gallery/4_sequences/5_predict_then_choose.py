r"""
Predict, then choose, in PyEPO
==============================

A network predicts what items are worth, alone and in pairs, and the best set is chosen by its
prediction. What counts is the value of the choice, not the error of the prediction. The training is
that of `PyEPO <https://github.com/khalil-research/PyEPO>`_, the argmax ours.
"""

# %%
# Data
# ----
#
# Eight items in a ring; the worth of each, and of neighbours together, is a hidden function of six
# features.

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
# Two trainings of a linear model
# -------------------------------
#
# By the squared error of the worths, and by SPO+, which asks the argmax what a wrong prediction
# costs.


def trained(loss_of, epochs=12):
    torch.manual_seed(0)
    net = torch.nn.Linear(6, model.num_cost)
    adam, curve = torch.optim.Adam(net.parameters(), lr=0.03), [100 * regret(net, model, unseen)]
    for _ in range(epochs):
        for features, costs, decisions, values in seen:
            adam.zero_grad()
            loss_of(net(features), costs, decisions, values).backward()
            adam.step()
        curve.append(100 * regret(net, model, unseen))
    return curve


plus = SPOPlus(model, processes=1)
curves = {
    "squared error": trained(lambda predicted, costs, *_: (predicted - costs).square().mean()),
    "SPO+": trained(plus),
}

# %%
# Regret
# ------
#
# What choices by prediction are worth less than the best ones, in percent, on inputs that were not
# seen.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, curve in curves.items():
    axes.plot(curve, label=f"{name}, {curve[-1]:.1f}%")
axes.set(xlabel="epochs", ylabel="regret (%)", ylim=(0, None))
axes.legend(frameon=False)
plt.show()
