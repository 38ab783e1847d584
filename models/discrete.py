"""An encoder and a decoder that share discrete latent variables."""

from __future__ import annotations

from typing import ClassVar

import torch

from .decoder import BinaryDecoder, CategoricalDecoder, Decoder
from .encoder import ENCODERS, CategoricalEncoder, Encoder, encoder_name
from .errors import PretrainedError
from .pretrained import Pretrained
from .shapes import Images


class DiscreteVAE(Pretrained):
    """A variational auto-encoder with discrete latent variables and a uniform prior.

    The latent state is n bits, or one of k categories as a one-hot vector; n is then k.

    Args:
        encoder: gives the potentials of the posterior.
        decoder: gives the image distribution of a state.

    Raises:
        ValueError: encoder and decoder have different n, or one has bits and the other categories.
    """

    usage: ClassVar[str] = "vae.sample(16, torch.Generator().manual_seed(0))  # [16, pixels], in [0, 1]"

    def __init__(self, encoder: Encoder | CategoricalEncoder, decoder: Decoder):
        super().__init__()
        if encoder.n != decoder.n:
            raise ValueError(
                f"the encoder has n = {encoder.n} and the decoder n = {decoder.n}; they must agree"
            )
        if isinstance(encoder, CategoricalEncoder) != isinstance(decoder, CategoricalDecoder):
            raise ValueError(
                f"{type(encoder).__name__} and {type(decoder).__name__}: one is of bits, the other of "
                "categories; they must agree"
            )
        self.encoder = encoder
        self.decoder = decoder

    @property
    def n(self) -> int:
        """Number of binary latent variables, or of categories."""
        return self.encoder.n

    @property
    def categorical(self) -> bool:
        """Whether the latent state is one of n categories rather than n bits."""
        return isinstance(self.encoder, CategoricalEncoder)

    @property
    def arguments(self) -> dict[str, int | str]:
        """What `paper_vae` makes networks of these shapes from.

        Raises:
            PretrainedError: it cannot make them.
        """
        name = encoder_name(self.encoder)
        if name is None or type(self.decoder) not in (BinaryDecoder, CategoricalDecoder):
            raise PretrainedError(
                f"networks of {type(self.encoder).__name__} and {type(self.decoder).__name__} are not among "
                "those that paper_vae makes, and so cannot be made again from a configuration"
            )
        last = self.decoder.last
        return {"encoder": name, "pixels": last.out_features, "n": self.n, "hidden": last.in_features}

    @classmethod
    def of_arguments(cls, encoder: str, pixels: int, n: int, hidden: int) -> DiscreteVAE:
        """Networks of `paper_vae` with fresh weights."""
        return paper_vae(encoder, pixels=pixels, n=n, hidden=hidden)

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """`[count, pixels]`: the mean images of `count` states drawn from the prior."""
        weight = self.decoder.last.weight
        if self.categorical:
            category = torch.randint(self.n, (count,), generator=generator, device=weight.device)
            z = torch.nn.functional.one_hot(category, self.n)
        else:
            z = torch.randint(2, (count, self.n), generator=generator, device=weight.device)
        return self.decoder(z.to(weight.dtype)).sigmoid()


def paper_vae(encoder: str, *, pixels: int = 784, n: int = 15, hidden: int = 300) -> DiscreteVAE:
    """The paper's architecture with one of `ENCODERS`.

    Args:
        encoder: "independent", "supermodular", "general" or "categorical".
        pixels: of an image.
        n: binary latent variables; for "categorical" the number of categories.
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
    decoder = CategoricalDecoder if encoder == "categorical" else BinaryDecoder
    return DiscreteVAE(ENCODERS[encoder](pixels, n, hidden), decoder(pixels, n, hidden))
