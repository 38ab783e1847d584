"""Networks with a pairwise binary latent space: encoders, decoders, VAEs."""

from .decoder import BernoulliDecoder, Flips
from .encoder import ENCODERS, Encoder, general_encoder, independent_encoder, supermodular_encoder
from .potentials import Potentials
from .vae import BinaryVAE, paper_vae

__all__ = [
    "ENCODERS",
    "BernoulliDecoder",
    "BinaryVAE",
    "Encoder",
    "Flips",
    "Potentials",
    "general_encoder",
    "independent_encoder",
    "paper_vae",
    "supermodular_encoder",
]
