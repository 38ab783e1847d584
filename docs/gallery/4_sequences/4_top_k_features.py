r"""
Choose k features
=================

Forty measurements, of which five matter: a selector learns which k = 5 a classifier may see. The
choice is exactly five, always, in training too, and the gradient goes through the exact marginals
of the distribution over subsets.
"""

# %%
# Data
# ----
#
# The class depends on five of the forty columns, in a way that no column shows alone: on the signs
# of products.

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
# ``KOfN(5).gibbs(scores)`` is a distribution over all subsets of five columns: exact marginals,
# exact samples. The sample hides all other columns from the classifier; the marginals carry the
# gradient back (Ahmed and others 2023).

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
    # the value of the sample, the gradient of the marginals
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
print(f"chosen: {chosen.tolist()}, matters: {matters.tolist()}; accuracy {100 * accuracy:.0f} %")

# %%
# How the choice settles
# ----------------------
#
# The probability of each column of being among the five; they add up to five in every step.

figure, axes = plt.subplots(figsize=(6, 3.6))
for i, line in enumerate(torch.stack(history).T):
    axes.plot(line, color="C3" if i in matters else "0.6", linewidth=1.5 if i in matters else 0.5)
axes.set(
    xlabel="steps", ylabel="P(column is chosen)", title="five columns that matter (red), of forty"
)
