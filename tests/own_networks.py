"""Networks as a user writes them: plain modules that know nothing of this library but `Potentials`."""

import torch
from torch import nn

from models import CategoricalPotentials, DiscreteVAE, Potentials

SIDE = 28


class ConvolutionalEncoder(nn.Module):
    """Batch normalisation and dropout act in training alone; images of 28 x 28 pixels and n bits."""

    def __init__(self, bits=4):
        super().__init__()
        self.bits = bits
        self.pairs = torch.triu_indices(bits, bits, 1).T
        self.layers = nn.Sequential(
            nn.Unflatten(1, (1, SIDE, SIDE)),
            nn.Conv2d(1, 3, 7, 7),
            nn.BatchNorm2d(3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(48, bits + len(self.pairs)),
        )

    def forward(self, x):
        outputs = self.layers(x)
        return Potentials(outputs[:, : self.bits], outputs[:, self.bits :], self.pairs)


class ConvolutionalDecoder(nn.Module):
    """Gives images [count, 1, 28, 28]."""

    def __init__(self, bits=4):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(bits, 48),
            nn.BatchNorm1d(48),
            nn.ReLU(),
            nn.Unflatten(1, (3, 4, 4)),
            nn.ConvTranspose2d(3, 1, 7, 7),
        )

    def forward(self, z):
        return self.layers(z)


class Scores(nn.Module):
    """One linear layer to potentials: of bits without pairs, or of categories."""

    def __init__(self, pixels, n, kind=Potentials):
        super().__init__()
        self.layer = nn.Linear(pixels, n)
        self.kind = kind

    def forward(self, x):
        return self.kind(self.layer(x))


class Categories(Scores):
    """Of categories."""

    def __init__(self, pixels, n):
        super().__init__(pixels, n, CategoricalPotentials)


def convolutional_vae(seed=0, bits=4):
    """Encoder and decoder with weights that the seed gives."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DiscreteVAE(ConvolutionalEncoder(bits), ConvolutionalDecoder(bits))
