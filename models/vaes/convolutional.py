"""A `DiscreteVAE` with a convolutional encoder and decoder."""

from __future__ import annotations

import math

from ..arguments import image_size, whole_number
from ..errors import SettingError
from ..networks.convolutional import ConvolutionalDecoder, ConvolutionalEncoder
from .discrete import DiscreteVAE


def convolutional_vae(
    encoder: str = "general",
    *,
    size: tuple[int, int, int] = (1, 28, 28),
    n: int = 15,
    channels: int = 16,
    hidden: int = 300,
) -> DiscreteVAE:
    """Make a VAE with a convolutional encoder and decoder.

    Args:
        encoder: a name of `ENCODERS`: "independent", "supermodular", "general" or "categorical".
        size: channels, height and width of an image; height and width must be multiples of 4.
        n: number of bits, or of categories.
        channels: number of channels of the largest feature maps; the smallest have twice as many.
        hidden: number of units of the fully connected layers.

    Raises:
        SettingError: no encoder has this name, a number is not a whole number of at least 1, or
            the size is not a multiple of 4.

    Example:
        >>> import torch
        >>> vae = convolutional_vae(n=3, channels=2, hidden=8)
        >>> vae.encoder(torch.zeros(2, 784)).pairwise.shape
        torch.Size([2, 3])
    """
    size = image_size(size, "size", SettingError)
    n = whole_number(n, "n", SettingError)
    channels = whole_number(channels, "channels", SettingError)
    hidden = whole_number(hidden, "hidden", SettingError)
    return DiscreteVAE(
        ConvolutionalEncoder(encoder, size, n, channels, hidden),
        ConvolutionalDecoder(size, n, channels, hidden),
        pixels=math.prod(size),
    )
