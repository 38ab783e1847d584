"""Networks with a discrete latent space: encoders, decoders, VAEs.

Imports neither `solvers` nor `structured_vae`, which stands on both.
"""

from .attributes import AttributeDecoder, AttributeEncoder, AttributeVAE, GivenCode
from .decoder import BinaryDecoder, CategoricalDecoder, DecodedStates, Decoder, Flips, Neighbourhood
from .discrete import DiscreteVAE, paper_vae
from .encoder import (
    ENCODERS,
    CategoricalEncoder,
    Encoder,
    general_encoder,
    independent_encoder,
    supermodular_encoder,
)
from .errors import ModelsError, PretrainedError
from .gaussian import Gaussian
from .layers import train_mixed
from .loading import VAES, load_pretrained
from .mixture import GivenStyle, MixtureDecoder, MixtureEncoder, MixtureVAE
from .model_card import Figure, ModelCard
from .potentials import AnyPotentials, CategoricalPotentials, Potentials
from .pretrained import Pretrained
from .states import MOST_BITS, all_states, state_index

__all__ = [
    "ENCODERS",
    "MOST_BITS",
    "VAES",
    "AnyPotentials",
    "AttributeDecoder",
    "AttributeEncoder",
    "AttributeVAE",
    "BinaryDecoder",
    "CategoricalDecoder",
    "CategoricalEncoder",
    "CategoricalPotentials",
    "DecodedStates",
    "Decoder",
    "DiscreteVAE",
    "Encoder",
    "Figure",
    "Flips",
    "Gaussian",
    "GivenCode",
    "GivenStyle",
    "MixtureDecoder",
    "MixtureEncoder",
    "MixtureVAE",
    "ModelCard",
    "ModelsError",
    "Neighbourhood",
    "Potentials",
    "Pretrained",
    "PretrainedError",
    "all_states",
    "general_encoder",
    "independent_encoder",
    "load_pretrained",
    "paper_vae",
    "state_index",
    "supermodular_encoder",
    "train_mixed",
]
