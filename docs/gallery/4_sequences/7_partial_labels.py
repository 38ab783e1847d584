r"""
Learn tags from partial labels
==============================

This example trains a tagger although most labels are incomplete. Half of the positions have no
label, and a fifth have a set of two possible labels. The likelihood of a chain sums over all tags
that these sets allow.
"""

# %%
# Data
# ----
#
# The tags follow a Markov chain with three states. At each position, a noisy measurement hints at
# the tag.

import matplotlib.pyplot as plt
import torch

from structured_vae import LinearChainCRF

K, LENGTH = 3, 12
generator = torch.Generator().manual_seed(0)
step = torch.tensor([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.2, 0.0, 0.8]])


def chains(count):
    tags = [torch.randint(K, (count,), generator=generator)]
    for _ in range(LENGTH - 1):
        tags.append(torch.multinomial(step[tags[-1]], 1, generator=generator)[:, 0])
    y = torch.stack(tags, dim=1)
    x = torch.nn.functional.one_hot(y, K) + torch.randn(count, LENGTH, K, generator=generator)
    return x, y


# %%
# Sets of tags
# ------------
#
# A target of booleans says which tags are possible. A position without a label has True for all
# tags. About 30 % of the positions keep their full label.

x, y = chains(12)
known = torch.nn.functional.one_hot(y, K).bool()
share = torch.rand(y.shape, generator=generator)
possible = known | (share < 0.5)[..., None]  # half of the positions: nothing is known
other = torch.nn.functional.one_hot((y + 1) % K, K).bool()
possible |= other & (share > 0.8)[..., None]  # a fifth: one of two tags


def trained(rows, target):
    torch.manual_seed(0)
    scale = torch.nn.Linear(K, K)
    crf = LinearChainCRF(K, batch_first=True)
    adam = torch.optim.Adam([*scale.parameters(), *crf.parameters()], lr=0.1)
    for _ in range(40):
        loss = -crf(scale(x[rows]), target[rows], reduction="mean")
        adam.zero_grad()
        loss.backward()
        adam.step()
    return lambda inputs: torch.tensor(crf.decode(scale(inputs)))


# %%
# Three ways to train
# -------------------
#
# We train the same model three times: with all labels of twelve chains, with the sets of these
# chains, and with all labels of only four chains. Four chains have about as many full labels as the
# sets.

test_x, test_y = chains(300)
models = {
    "all labels": trained(slice(None), y),
    "sets of labels": trained(slice(None), possible),
    "four chains": trained(slice(4), y),
}
accuracies = {
    name: 100 * (model(test_x) == test_y).float().mean().item() for name, model in models.items()
}
for name, accuracy in accuracies.items():
    print(f"{name}: {accuracy:.1f} % of the tags are right")

# %%
# On new data, the sets are nearly as good as all labels. Four chains are much worse, so the
# incomplete labels help.
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.barh(list(accuracies), list(accuracies.values()), color=["0.6", "C3", "C0"])
axes.set(xlabel="right tags on new data (%)", xlim=(0, 100))
axes.invert_yaxis()
