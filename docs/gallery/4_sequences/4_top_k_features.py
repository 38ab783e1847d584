r"""
Choose k features
=================

This example learns which five of forty columns a classifier needs. The classifier sees exactly five
columns in every step of the training. A distribution over all subsets of five columns learns
together with the classifier. Its exact marginals carry the gradient.
"""

# %%
# Data
# ----
#
# We add up a weighted sum of five columns and the product of two of them. The class is the sign of
# the result. The other 35 columns are noise.

import matplotlib.pyplot as plt
import torch

from structured_vae import KOfN

COLUMNS, K = 40, 5
generator = torch.Generator().manual_seed(0)
matters = torch.tensor([3, 11, 19, 27, 35])


def rows(count):
    x = torch.randn((count, COLUMNS), generator=generator)
    weights = torch.tensor([2.0, -1.5, 1.5, -2.0, 1.0])
    return x, ((x[:, matters] @ weights + x[:, 3] * x[:, 11]) > 0).float()


# %%
# A score for each column
# -----------------------
#
# ``KOfN(5).gibbs(scores)`` is a distribution over all subsets of five columns. It has exact
# marginals and exact samples. Each step draws a subset, and hides all other columns from the
# classifier.
#
# A sample has no gradient. As in SIMPLE (Ahmed et al., 2023), we use the gradient of the marginals
# instead. The line ``mask = ...`` does this: its value is the sample, and its gradient is that of
# the marginals. Such a gradient is called *straight-through*.

subsets = KOfN(K)
scores = torch.zeros(COLUMNS, requires_grad=True)
torch.manual_seed(0)
classifier = torch.nn.Sequential(
    torch.nn.Linear(COLUMNS, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
)
adam = torch.optim.Adam(
    [{"params": classifier.parameters(), "lr": 0.01}, {"params": [scores], "lr": 0.05}]
)
history = []
for _ in range(300):
    x, y = rows(128)
    p = subsets.gibbs(scores.expand(len(x), -1))
    z = p.sample(generator)[0]
    mask = z + p.marginals - p.marginals.detach()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(classifier(x * mask)[:, 0], y)
    adam.zero_grad()
    loss.backward()
    adam.step()
    history.append(subsets.gibbs(scores.detach()[None]).marginals[0])

chosen = subsets.argmax(scores.detach()[None])[0].nonzero()[:, 0]
x, y = rows(2000)
mask = torch.zeros(COLUMNS).index_fill(0, chosen, 1)
accuracy = ((classifier(x * mask)[:, 0] > 0) == y.bool()).float().mean().item()
print("columns that were chosen:", chosen.tolist())
print("columns that matter:     ", matters.tolist())
print(f"accuracy on new data: {100 * accuracy:.0f} %")

# %%
# How the choice settles
# ----------------------
#
# Each line is the probability that a column is chosen. In every step, the forty probabilities add
# up to five. The red lines are the columns that matter: they rise, and the grey lines fall.

figure, axes = plt.subplots(figsize=(6, 3.6))
for i, line in enumerate(torch.stack(history).T):
    axes.plot(line, color="C3" if i in matters else "0.6", linewidth=1.5 if i in matters else 0.5)
axes.set(
    xlabel="steps", ylabel="P(column is chosen)", title="five columns that matter (red), of forty"
)
