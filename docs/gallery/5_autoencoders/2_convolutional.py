"""
Convolutional networks of your own
==================================

This example shows how to train a VAE with your own networks. We write a convolutional encoder and
decoder for a code of 12 bits, with a score for each of the 66 pairs of bits.
"""

# %%
# Two modules
# -----------
#
# The encoder returns ``Potentials``: the scores of bits and pairs. The decoder takes codes, and
# returns the logits of the pixels. ``DiscreteVAE`` needs nothing else. It reads the number of bits
# from the potentials.

import matplotlib.pyplot as plt
import torch
from torch import nn

from models import DiscreteVAE, Potentials
from structured_vae import Gibbs, ScoreFunction, elbo_recipe, evaluate, load_dataset


class Encoder(nn.Module):
    def __init__(self, n=12, channels=16):
        super().__init__()
        self.n = n
        self.pairs = torch.triu_indices(n, n, 1).T
        self.layers = nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),
            nn.Conv2d(1, channels, 4, 2, 1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 4, 2, 1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(
            nn.Linear(2 * channels * 49, 300),
            nn.ReLU(),
            nn.Linear(300, n + len(self.pairs)),
        )

    def forward(self, x):
        # The head has 1,568 normalised inputs. The factor keeps its scores small at first.
        scores = self.head(0.3 * self.layers(x))
        return Potentials(scores[:, : self.n], scores[:, self.n :], self.pairs)


class Decoder(nn.Module):
    def __init__(self, n=12, channels=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n, 300),
            nn.ReLU(),
            nn.Linear(300, 2 * channels * 49),
            nn.ReLU(),
            nn.Unflatten(1, (2 * channels, 7, 7)),
            nn.ConvTranspose2d(2 * channels, channels, 4, 2, 1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.ConvTranspose2d(channels, 1, 4, 2, 1),
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
# The loop is the one of the example before. ``structured_vae.train(model=vae, data=images)`` does
# the same, and also writes checkpoints, pictures and metrics.

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
# Reconstructions
# ---------------
#
# The first row shows test images. The second row shows what the decoder makes of their 12 bits.

vae.eval()
with torch.no_grad():
    shown = torch.from_numpy(dataset.test.images[::97][:10])
    decoded = vae.decoder.mean(Gibbs(vae.encoder(shown)).sample(noise)[0])
figure, grid = plt.subplots(2, 10, figsize=(8, 1.8))
for axes, image in zip(grid.flat, torch.cat([shown, decoded]), strict=True):
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])

# %%
# Evaluation
# ----------
#
# With 12 bits, ``evaluate`` sums over all 4,096 codes exactly, for any networks. Both numbers are
# in nats per image, and lower is better. :doc:`/own_networks` compares convolutional networks with
# fully connected ones.

evaluation = evaluate(
    vae, [(torch.from_numpy(dataset.test.images[:300]),)], Gibbs, torch.Generator().manual_seed(0)
)
for name in ("bound", "minus_log_p"):
    quantity = evaluation.quantities[name]
    print(f"{name:12} {quantity.value:6.1f} nats, {quantity.kind}")
