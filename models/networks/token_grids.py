"""Convolutions between images and a small grid of tokens, for codes with a place in the image."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import nn

from ..errors import SettingError
from ..shapes import Images, Logits
from .layers import Conv2d, ConvTranspose2d

SMALLEST: Final = 8
"""Height and width are halved while they are even and larger than this."""

WIDEST: Final = 4
"""The most channels, over those of the first convolution."""


def halvings(height: int, width: int) -> int:
    """Return how often an image is halved, once for each convolution of stride 2.

    Example:
        >>> halvings(64, 64), halvings(28, 28)
        (3, 2)
    """
    count = 0
    while min(height, width) > SMALLEST and height % 2 == 0 and width % 2 == 0:
        height //= 2
        width //= 2
        count += 1
    return count


def token_count(height: int, width: int) -> int:
    """Return the number of tokens of an image: the places of its smallest feature maps.

    Example:
        >>> token_count(64, 64), token_count(28, 28)
        (64, 49)
    """
    rows, columns = _grid(height, width)
    return rows * columns


def _grid(height: int, width: int) -> tuple[int, int]:
    """Return height and width of the smallest feature maps."""
    count = halvings(height, width)
    return height >> count, width >> count


class TokenEncoder(nn.Module):
    """An encoder of convolutions of stride 2, to features of a grid of tokens.

    Args:
        size: channels, height and width of an image.
        features: number of features of all tokens together.
        channels: number of channels of the first convolution; later ones have up to 4 times as
            many.

    Raises:
        SettingError: the features cannot be shared among the tokens.
    """

    def __init__(self, size: tuple[int, int, int], features: int, channels: int):
        super().__init__()
        of_token = _features_of_token(size, features)
        widths = _widths(size, channels)
        layers: list[nn.Module] = [nn.Unflatten(1, size)]
        for before, after in zip((size[0], *widths), widths, strict=False):
            layers += [Conv2d(before, after, 4, 2, 1), nn.ReLU()]
        layers += [Conv2d(widths[-1], widths[-1], 3, 1, 1), nn.ReLU()]
        self.layers = _channels_last(nn.Sequential(*layers, Conv2d(widths[-1], of_token, 1)))

    def forward(self, x: Images) -> torch.Tensor:
        """Return the features of `x [batch, pixels]`, token after token: `[batch, features]`."""
        maps: torch.Tensor = self.layers(x)
        return maps.permute(0, 2, 3, 1).flatten(1)


class TokenDecoder(nn.Module):
    """A decoder of transposed convolutions, from vectors of tokens to one output per value.

    Args:
        size: channels, height and width of an image.
        features: number of features of all tokens together.
        channels: number of channels of the last feature maps; earlier ones have up to 4 times as
            many.

    Raises:
        SettingError: the features cannot be shared among the tokens.
    """

    def __init__(self, size: tuple[int, int, int], features: int, channels: int):
        super().__init__()
        of_token = _features_of_token(size, features)
        self.grid = (*_grid(*size[1:]), of_token)
        widths = _widths(size, channels)[::-1]
        layers: list[nn.Module] = [Conv2d(of_token, widths[0], 3, 1, 1)]
        for before, after in zip(widths, (*widths[1:], size[0]), strict=True):
            layers += [nn.ReLU(), ConvTranspose2d(before, after, 4, 2, 1)]
        self.layers = _channels_last(nn.Sequential(*layers))

    def forward(self, vectors: torch.Tensor) -> Logits:
        """Return the outputs for `vectors [count, features]`: `[count, pixels]`."""
        maps = vectors.reshape(-1, *self.grid).permute(0, 3, 1, 2)
        outputs: torch.Tensor = self.layers(maps)
        return outputs.flatten(1)


def _widths(size: tuple[int, int, int], channels: int) -> tuple[int, ...]:
    """Return the channels of each convolution of stride 2.

    Raises:
        SettingError: there is none, since the image is too small or has an odd side.
    """
    count = halvings(*size[1:])
    if not count:
        raise SettingError(
            f"convolutional networks halve an image at least once: its height and width must be "
            f"even and above {SMALLEST}; got {size[1]} x {size[2]}"
        )
    return tuple(channels * min(2**place, WIDEST) for place in range(count))


def _features_of_token(size: tuple[int, int, int], features: int) -> int:
    tokens = token_count(*size[1:])
    if features % tokens:
        raise SettingError(
            f"an image of {size[1]} x {size[2]} has {tokens} tokens, among which {features} "
            f"features cannot be shared equally: n must be a multiple of {tokens}"
        )
    return features // tokens


def _channels_last(layers: nn.Sequential) -> nn.Sequential:
    """Store the weights in channels-last order, in which convolutions on a CPU are fast."""
    # torch's type of `to` lacks this argument
    return layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def square_size(pixels: int) -> tuple[int, int, int]:
    """Return channels, height and width of a square image, grey or in three colours.

    Raises:
        SettingError: neither has so many values.

    Example:
        >>> square_size(784), square_size(3072)
        ((1, 28, 28), (3, 32, 32))
    """
    for channels in (1, 3):
        side = math.isqrt(max(0, pixels) // channels)
        if side and channels * side**2 == pixels:
            return channels, side, side
    raise SettingError(
        f"convolutional networks take square images, grey or in three colours; no such image has "
        f"{pixels} values"
    )
