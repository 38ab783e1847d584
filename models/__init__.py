"""Networks with a discrete latent space: encoders, decoders, VAEs."""

from .decoder import BinaryDecoder, CategoricalDecoder, DecodedStates, Decoder, Flips, Neighbourhood
from .encoder import (
    ENCODERS,
    CategoricalEncoder,
    Encoder,
    general_encoder,
    independent_encoder,
    supermodular_encoder,
)
from .mixture import Gaussian, GivenStyle, MixtureDecoder, MixtureEncoder, MixtureVAE
from .potentials import AnyPotentials, CategoricalPotentials, Potentials
from .states import MOST_BITS, all_states, state_index
from .vae import DiscreteVAE, paper_vae

__all__ = [
    "ENCODERS",
    "MOST_BITS",
    "AnyPotentials",
    "BinaryDecoder",
    "CategoricalDecoder",
    "CategoricalEncoder",
    "CategoricalPotentials",
    "DecodedStates",
    "Decoder",
    "DiscreteVAE",
    "Encoder",
    "Flips",
    "Gaussian",
    "GivenStyle",
    "MixtureDecoder",
    "MixtureEncoder",
    "MixtureVAE",
    "Neighbourhood",
    "Potentials",
    "all_states",
    "general_encoder",
    "independent_encoder",
    "paper_vae",
    "state_index",
    "supermodular_encoder",
]
