"""
Faces as 256 bits
=================

A convolutional VAE of faces of 64 x 64 pixels in colour, with 256 bits and a learnt prior. It
trains in about a minute on one core.
"""

# %%
# The data
# --------
#
# CelebA's terms forbid redistribution, so this library neither ships nor downloads it. The page
# :doc:`/data_sets` says where the files lie. Without them this page only shows the code. The pictures
# below are samples of the prior: they show no person.

import math
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch import nn

from models import DiscreteVAE, Potentials
from models.priors import States, named_prior
from structured_vae import Gibbs, StraightThrough, elbo_recipe, evaluate, load_dataset
from structured_vae.errors import DataError

try:
    faces = load_dataset("celeba", binarisation="none")
except DataError:
    faces = None
    print("Skipped: the images of CelebA are not on this machine.")

# %%
# Two modules
# -----------
#
# Four convolutions halve the image to 4 x 4 places; the decoder doubles it as often. The likelihood
# is a distribution of stored intensities, so bounds are in nats per image.

WIDTHS = (3, 16, 32, 64, 64)
BITS = 256
STEPS = 500


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Unflatten(1, (3, 64, 64))]
        for before, after in pairwise(WIDTHS):
            layers += [nn.Conv2d(before, after, 4, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Linear(WIDTHS[-1] * 16, BITS)

    def forward(self, x):
        # 1,024 normalised features: scores must not grow fast
        return Potentials(self.head(0.3 * self.features(x)))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(BITS, WIDTHS[-1] * 16), nn.Unflatten(1, (WIDTHS[-1], 4, 4))]
        for before, after in zip(WIDTHS[:1:-1], WIDTHS[-2:0:-1], strict=True):
            layers += [nn.ReLU(), nn.ConvTranspose2d(before, after, 4, 2, 1)]
            layers += [nn.BatchNorm2d(after)]
        layers += [nn.ReLU(), nn.ConvTranspose2d(WIDTHS[1], 3, 4, 2, 1), nn.Flatten()]
        self.layers = nn.Sequential(*layers)

    def forward(self, z):
        return self.layers(2 * z - 1)


# %%
# Training
# --------
#
# Straight-through gradients need one decode per image. The prior is autoregressive and learns with
# the networks.


def batch_of(images, places):
    """Return images `[batch, pixels]` in [0, 1] of stored bytes."""
    return torch.from_numpy(images[places.numpy()]).float() / 255


def trained(images):
    """Return a VAE of faces."""
    torch.manual_seed(0)
    prior = named_prior("made", States(BITS, hidden=200))
    vae = DiscreteVAE(
        Encoder(), Decoder(), pixels=3 * 64 * 64, likelihood="discretised_gaussian", prior=prior
    )
    estimator = StraightThrough()
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, STEPS)
    for step in range(STEPS):
        x = batch_of(images, torch.randint(len(images), (50,), generator=noise))
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, step)
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
        schedule.step()
    return vae.eval()


if faces is not None:
    vae = trained(faces.train.images)

# %%
# The bound
# ---------
#
# The KL is at most 256 log 2 = 177 nats, and nearly all of the bound is the reconstruction.

if faces is not None:
    x = batch_of(faces.test.images, torch.arange(200))
    noise = torch.Generator().manual_seed(0)
    quantities = evaluate(vae, [(x,)], Gibbs, noise, samples=4).quantities
    for name in ("reconstruction", "kl", "bound"):
        print(f"{name:15} {quantities[name].value:8.0f} nats")
    print(f"bits per value  {quantities['bound'].value / (x.shape[1] * math.log(2)):8.2f}")

# %%
# Samples of the prior
# --------------------

if faces is not None:
    drawn = vae.sample(20, torch.Generator().manual_seed(1)).clamp(0, 1)
    figure, grid = plt.subplots(2, 10, figsize=(8, 1.8))
    for axes, image in zip(grid.flat, drawn, strict=True):
        axes.imshow(image.reshape(3, 64, 64).permute(1, 2, 0))
        axes.set(xticks=[], yticks=[])
