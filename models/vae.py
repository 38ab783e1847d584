"""An encoder and a decoder that share n binary latent variables."""

from __future__ import annotations

import torch
from torch import nn

from .decoder import BernoulliDecoder
from .encoder import ENCODERS, Encoder
from .shapes import Images


class BinaryVAE(nn.Module):
    """A variational auto-encoder with n binary latent variables and a uniform prior.

    Args:
        encoder: gives the potentials of the posterior.
        decoder: gives the image distribution of a state.

    Raises:
        ValueError: encoder and decoder have different n.
    """

    def __init__(self, encoder: Encoder, decoder: BernoulliDecoder):
        super().__init__()
        if encoder.n != decoder.n:
            raise ValueError(
                f"the encoder has n = {encoder.n} and the decoder n = {decoder.n}; they must agree"
            )
        self.encoder = encoder
        self.decoder = decoder

    @property
    def n(self) -> int:
        """Number of binary latent variables."""
        return self.encoder.n

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """`[count, pixels]`: the mean images of `count` states drawn from the prior."""
        weight = self.decoder.last.weight
        z = torch.randint(2, (count, self.n), generator=generator, device=weight.device)
        logits: torch.Tensor = self.decoder(z.to(weight.dtype))
        return logits.sigmoid()


def paper_vae(encoder: str, *, pixels: int = 784, n: int = 15, hidden: int = 300) -> BinaryVAE:
    """The paper's architecture with one of `ENCODERS`.

    Args:
        encoder: "independent", "supermodular" or "general".
        pixels: of an image.
        n: binary latent variables.
        hidden: units of each hidden layer.

    Raises:
        ValueError: there is no such encoder.

    Example:
        >>> vae = paper_vae("general")
        >>> vae.encoder(torch.zeros(2, 784)).pairwise.shape
        torch.Size([2, 105])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 5.
    """
    if encoder not in ENCODERS:
        raise ValueError(f"no encoder is called '{encoder}'; there are: {', '.join(ENCODERS)}")
    return BinaryVAE(ENCODERS[encoder](pixels, n, hidden), BernoulliDecoder(pixels, n, hidden))
