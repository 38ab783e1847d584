"""
Networks of your own
====================

A convolutional encoder and decoder, in a variational auto-encoder with 12 bits and a score for each
of their 66 pairs.
"""

# %%
# Two modules
# -----------
#
# The encoder returns potentials, the decoder the logits of states. Nothing else is asked of them;
# ``n`` is read from the potentials.

import matplotlib.pyplot as plt
import torch
from torch import nn

from models import DiscreteVAE, Potentials
from structured_vae import Gibbs, ScoreFunction, elbo_recipe, evaluate, load_dataset


class Encoder(nn.Module):
    def __init__(self, n=12, channels=16):
        super().__init__()
        self.n, self.pairs = n, torch.triu_indices(n, n, 1).T
        self.layers = nn.Sequential(
            *(
                nn.Unflatten(1, (1, 28, 28)),
                nn.Conv2d(1, channels, 4, 2, 1),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            ),
            *(
                nn.Conv2d(channels, 2 * channels, 4, 2, 1),
                nn.BatchNorm2d(2 * channels),
                nn.ReLU(),
                nn.Flatten(),
            ),
        )
        self.head = nn.Sequential(
            *(nn.Linear(2 * channels * 49, 300), nn.ReLU(), nn.Linear(300, n + len(self.pairs))),
        )

    def forward(self, x):
        # 1,568 normalised features: scores must not grow fast
        scores = self.head(0.3 * self.layers(x))
        return Potentials(scores[:, : self.n], scores[:, self.n :], self.pairs)


class Decoder(nn.Module):
    def __init__(self, n=12, channels=16):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(n, 300), nn.ReLU(), nn.Linear(300, 2 * channels * 49), nn.ReLU()),
            *(
                nn.Unflatten(1, (2 * channels, 7, 7)),
                nn.ConvTranspose2d(2 * channels, channels, 4, 2, 1),
            ),
            *(nn.BatchNorm2d(channels), nn.ReLU(), nn.ConvTranspose2d(channels, 1, 4, 2, 1)),
        )

    def forward(self, z):
        return self.layers(2 * z - 1)


torch.manual_seed(0)
vae = DiscreteVAE(Encoder(), Decoder(), pixels=784)
print(vae.n, "bits")

# %%
# Training
# --------
#
# The loop is that of every model here. ``structured_vae.train(model=vae, data=images)`` is one that
# leaves checkpoints, pictures and metrics, and can be resumed.

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
estimator = ScoreFunction(2)
adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
noise = torch.Generator().manual_seed(0)
costs = []
for _ in range(3):
    for x in images[torch.randperm(len(images), generator=noise)].split(100):
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, len(costs))
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
        costs.append(estimate.cost.mean().item())

# %%
# What it has learnt
# -------------------
#
# Test images above what their bits decode to.

vae.eval()
with torch.no_grad():
    shown = torch.from_numpy(dataset.test.images[::97][:10])
    decoded = vae.decoder.mean(Gibbs(vae.encoder(shown)).sample(noise)[0])
figure, grid = plt.subplots(2, 10, figsize=(8, 1.8))
for axes, image in zip(grid.flat, torch.cat([shown, decoded]), strict=True):
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])

# %%
# Every sum over the 4,096 states is exact, whatever the networks are. How far such a pair is ahead
# of the fully connected one at equal epochs is on the page :doc:`/own_networks`.

evaluation = evaluate(
    vae, [(torch.from_numpy(dataset.test.images[:300]),)], Gibbs, torch.Generator().manual_seed(0)
)
for name in ("bound", "minus_log_p"):
    quantity = evaluation.quantities[name]
    print(f"{name:12} {quantity.value:6.1f} nats, {quantity.kind}")
