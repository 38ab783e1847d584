"""
Faces as 256 and 1,024 bits
===========================

This example trains two convolutional VAEs on colour images of faces, both with a learnt prior. The
first one encodes 64 x 64 pixels as 256 bits, and the second one 32 x 32 pixels as 1,024 bits. Each
trains in about a minute on one core. You need the images of CelebA; without them, this page shows
only the code.
"""

# %%
# The data
# --------
#
# CelebA's terms forbid redistribution, so the library neither contains nor downloads it.
# :doc:`/data_sets` says where to put the files. The pictures below are samples of the prior, and
# show no real person.

import math
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from models import DiscreteVAE, Potentials
from models.priors import PriorOptions, States, named_prior
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
# The convolutions of the encoder halve the side of the image until it is 4. The decoder doubles it
# as often. The likelihood gives a probability to each stored byte, from 0 to 255. So the bounds of
# the two models are in nats per image, and comparable with other models of the same bytes.

CHANNELS = {64: (3, 16, 32, 64, 64), 32: (3, 32, 64, 64)}  # of the layers, by the side of an image
STEPS = 500


class Encoder(nn.Module):
    def __init__(self, side, bits):
        super().__init__()
        channels = CHANNELS[side]
        layers = [nn.Unflatten(1, (3, side, side))]
        for before, after in pairwise(channels):
            layers += [nn.Conv2d(before, after, 4, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Linear(channels[-1] * 16, bits)

    def forward(self, x):
        # The head has 1,024 normalised inputs. The factor keeps its scores small at first.
        return Potentials(self.head(0.3 * self.features(x)))


class Decoder(nn.Module):
    def __init__(self, side, bits):
        super().__init__()
        channels = CHANNELS[side]
        layers = [nn.Linear(bits, channels[-1] * 16), nn.Unflatten(1, (channels[-1], 4, 4))]
        for before, after in zip(channels[:1:-1], channels[-2:0:-1], strict=True):
            layers += [nn.ReLU(), nn.ConvTranspose2d(before, after, 4, 2, 1)]
            layers += [nn.BatchNorm2d(after)]
        layers += [nn.ReLU(), nn.ConvTranspose2d(channels[1], 3, 4, 2, 1), nn.Flatten()]
        self.layers = nn.Sequential(*layers)

    def forward(self, z):
        return self.layers(2 * z - 1)


# %%
# Training
# --------
#
# The straight-through estimator decodes one code per image, so a step is fast. The prior is
# autoregressive, and learns together with the networks; see :doc:`/learnt_priors`.


def batch_of(images, places):
    """Return images `[batch, pixels]` in [0, 1] of stored bytes."""
    return torch.from_numpy(images[places.numpy()]).float() / 255


def trained(images, side, bits):
    """Return a VAE of faces."""
    torch.manual_seed(0)
    networks = Encoder(side, bits), Decoder(side, bits)
    prior = named_prior(PriorOptions("made", hidden=200), States(bits))
    vae = DiscreteVAE(
        *networks, pixels=3 * side * side, likelihood="discretised_gaussian", prior=prior
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
    vae = trained(faces.train.images, side=64, bits=256)

# %%
# The bound
# ---------
#
# The bound is the sum of reconstruction cost and KL. Under a uniform prior, the KL of 256 bits is
# at most 256 log 2 = 177 nats. Nearly all of the bound is therefore the reconstruction.


def show_bound(vae, images):
    """Print the bound of 200 images in nats per image, and in bits per stored value."""
    x = batch_of(images, torch.arange(200))
    noise = torch.Generator().manual_seed(0)
    quantities = evaluate(vae, [(x,)], Gibbs, noise, samples=4).quantities
    for name in ("reconstruction", "kl", "bound"):
        print(f"{name:15} {quantities[name].value:8.0f} nats")
    print(f"bits per value  {quantities['bound'].value / (x.shape[1] * math.log(2)):8.2f}")


if faces is not None:
    show_bound(vae, faces.test.images)

# %%
# Samples of the prior
# --------------------
#
# Each picture is a code from the learnt prior, decoded.


def show_samples(vae, side):
    """Draw 20 samples of the prior."""
    drawn = vae.sample(20, torch.Generator().manual_seed(1)).clamp(0, 1)
    _, grid = plt.subplots(2, 10, figsize=(8, 1.8))
    for axes, image in zip(grid.flat, drawn, strict=True):
        axes.imshow(image.reshape(3, side, side).permute(1, 2, 0))
        axes.set(xticks=[], yticks=[])


if faces is not None:
    show_samples(vae, side=64)

# %%
# 32 x 32 pixels and 1,024 bits
# -----------------------------
#
# For the second model, each pixel is the mean of four. Under a uniform prior, the KL could be up to
# 1,024 log 2 = 710 nats. It stays far below this limit, because in a short training the encoder
# learns to use only some of its bits. The last figure shows samples of this model.


def halved(images):
    """Return images of half the side, as bytes."""
    pixels = images.reshape(-1, 3, 32, 2, 32, 2).mean(axis=(3, 5))
    return pixels.round().astype(np.uint8).reshape(len(images), -1)


if faces is not None:
    small = trained(halved(faces.train.images), side=32, bits=1024)
    show_bound(small, halved(faces.test.images))
    show_samples(small, side=32)
