"""A convolutional pair, written as networks of one's own are: two plain modules."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import torch
from torch import nn

from .discrete import DiscreteVAE
from .encoder import ENCODERS
from .errors import SettingError
from .layers import Conv2d, ConvTranspose2d, Linear
from .potentials import AnyPotentials
from .shapes import Images

HALVINGS: Final = 2
"""Of height and width, a convolution each."""

FEATURE_SCALE: Final = 0.3
"""Of the features of an image. In a step, Adam moves a hidden unit by up to the learning rate times the sum of its
inputs: 1,568 normalised features saturate the posterior before the decoder can tell states
apart."""


class ConvolutionalEncoder(nn.Module):
    """Two convolutions of stride 2, each with batch normalisation and a ReLU, then the head of an encoder of ours.

    The head gets the features times `FEATURE_SCALE`, so that scores start small and grow slowly.

    Args:
        encoder: one of `ENCODERS`: which potentials.
        size: channels, height and width of an image; the last two are multiples of 4.
        n: bits, or categories.
        channels: of the first convolution; the second has twice as many.
        hidden: units between the features and the potentials.

    Raises:
        SettingError: there is no such encoder, or no such size.
    """

    def __init__(
        self, encoder: str, size: tuple[int, int, int], n: int, channels: int, hidden: int
    ):
        super().__init__()
        if encoder not in ENCODERS:
            raise SettingError(
                f"no encoder is called {encoder!r}; there are: {', '.join(ENCODERS)}"
            )
        small = _smallest(size, channels)
        widths = (size[0], channels, 2 * channels)
        blocks = [
            _block(Conv2d(before, after, 4, 2, 1), after) for before, after in pairwise(widths)
        ]
        self.features = nn.Sequential(nn.Unflatten(1, size), *blocks, nn.Flatten())
        self.head = ENCODERS[encoder](math.prod(small), n, hidden)

    def forward(self, x: Images) -> AnyPotentials:
        """The potentials of each image of `x [batch, pixels]`."""
        return self.head(FEATURE_SCALE * self.features(x))


class ConvolutionalDecoder(nn.Module):
    """A hidden layer, then feature maps, and two transposed convolutions up to the logits of an image.

    Args:
        size: channels, height and width of an image; the last two are multiples of 4.
        n: bits, or categories.
        channels: of the last feature maps; the first have twice as many.
        hidden: units between the state and the first feature maps.

    Raises:
        SettingError: there is no such size.
    """

    def __init__(self, size: tuple[int, int, int], n: int, channels: int, hidden: int):
        super().__init__()
        small = _smallest(size, channels)
        self.layers = nn.Sequential(
            *(Linear(n, hidden), nn.ReLU()),
            *(Linear(hidden, math.prod(small)), nn.ReLU(), nn.Unflatten(1, small)),
            _block(ConvTranspose2d(2 * channels, channels, 4, 2, 1), channels),
            ConvTranspose2d(channels, size[0], 4, 2, 1),
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """`[count, channels, height, width]`: the logits of states `z [count, n]`."""
        logits: torch.Tensor = self.layers(2 * z - 1)
        return logits


def convolutional_vae(
    encoder: str = "general",
    *,
    size: tuple[int, int, int] = (1, 28, 28),
    n: int = 15,
    channels: int = 16,
    hidden: int = 300,
) -> DiscreteVAE:
    """A VAE of the two.

    Args:
        encoder: "independent", "supermodular", "general" or "categorical".
        size: channels, height and width of an image; the last two are multiples of 4.
        n: bits, or categories.
        channels: of the widest feature maps; the smallest have twice as many.
        hidden: units of the fully connected layers.

    Raises:
        SettingError: there is no such encoder, or no such size.

    Example:
        >>> vae = convolutional_vae(n=3, channels=2, hidden=8)
        >>> vae.encoder(torch.zeros(2, 784)).pairwise.shape
        torch.Size([2, 3])
    """
    pair = (
        ConvolutionalEncoder(encoder, size, n, channels, hidden),
        ConvolutionalDecoder(size, n, channels, hidden),
    )
    return DiscreteVAE(*pair, pixels=math.prod(size))


def _block(convolution: nn.Module, channels: int) -> nn.Sequential:
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU())


def _smallest(size: tuple[int, int, int], channels: int) -> tuple[int, int, int]:
    """Channels, height and width of the smallest feature maps."""
    _, height, width = size
    if height % 2**HALVINGS or width % 2**HALVINGS:
        raise SettingError(
            f"height and width must be multiples of {2**HALVINGS}; got {height} x {width}"
        )
    return 2 * channels, height // 2**HALVINGS, width // 2**HALVINGS
