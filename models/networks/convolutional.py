"""A convolutional encoder and decoder: two plain modules, like custom networks."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import torch
from torch import nn

from ..errors import SettingError
from ..potentials import AnyPotentials
from ..shapes import Images
from .encoders.registry import ENCODERS
from .layers import Conv2d, ConvTranspose2d, Linear

HALVINGS: Final = 2
"""Number of times that height and width are halved, once per convolution."""

FEATURE_SCALE: Final = 0.3
"""Factor for the features of an image.

In a step, Adam moves a hidden unit by up to the learning rate times the sum of its inputs. With
1,568 normalised features, the posterior would saturate before the decoder distinguishes states.
"""


class ConvolutionalEncoder(nn.Module):
    """An encoder of two convolutions of stride 2, followed by one of `ENCODERS` as its head.

    Each convolution has batch normalisation and a ReLU. The head receives the features times
    `FEATURE_SCALE`, so that scores start small and grow slowly.

    Args:
        encoder: a name of `ENCODERS`, which decides the kind of potentials.
        size: channels, height and width of an image; height and width must be multiples of 4.
        n: number of bits, or of categories.
        channels: number of channels of the first convolution; the second has twice as many.
        hidden: number of units between the features and the potentials.

    Raises:
        SettingError: no encoder has this name, or the size is not a multiple of 4.
    """

    def __init__(
        self, encoder: str, size: tuple[int, int, int], n: int, channels: int, hidden: int
    ):
        super().__init__()
        head_class = ENCODERS.named(encoder)
        small = _smallest(size, channels)
        widths = (size[0], channels, 2 * channels)
        blocks = [
            _block(Conv2d(before, after, 4, 2, 1), after) for before, after in pairwise(widths)
        ]
        self.features = nn.Sequential(nn.Unflatten(1, size), *blocks, nn.Flatten())
        self.head = head_class(math.prod(small), n, hidden)

    def forward(self, x: Images) -> AnyPotentials:
        """Return the potentials of each image of `x [batch, pixels]`."""
        return self.head(FEATURE_SCALE * self.features(x))


class ConvolutionalDecoder(nn.Module):
    """A decoder of a hidden layer and two transposed convolutions, which end in Bernoulli logits.

    Args:
        size: channels, height and width of an image; height and width must be multiples of 4.
        n: number of bits, or of categories.
        channels: number of channels of the last feature maps; the first have twice as many.
        hidden: number of units between the state and the first feature maps.

    Raises:
        SettingError: the size is not a multiple of 4.
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
        """Return the logits of states `z [count, n]`: `[count, channels, height, width]`."""
        logits: torch.Tensor = self.layers(2 * z - 1)
        return logits


def _block(convolution: nn.Module, channels: int) -> nn.Sequential:
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU())


def _smallest(size: tuple[int, int, int], channels: int) -> tuple[int, int, int]:
    """Return channels, height and width of the smallest feature maps."""
    _, height, width = size
    if height % 2**HALVINGS or width % 2**HALVINGS:
        raise SettingError(
            f"height and width must be multiples of {2**HALVINGS}; got {height} x {width}"
        )
    return 2 * channels, height // 2**HALVINGS, width // 2**HALVINGS
