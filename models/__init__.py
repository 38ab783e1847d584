"""Networks with a discrete latent space: encoders, decoders, VAEs.

Imports neither `solvers` nor `structured_vae`, which stands on both.
"""

from .attributes import AttributeDecoder, AttributeEncoder, AttributeVAE, GivenCode
from .convolutional import ConvolutionalDecoder, ConvolutionalEncoder, convolutional_vae
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
from .errors import ModelsError, NetworkError, PretrainedError, SettingError
from .gaussian import Gaussian
from .gaussian_vae import GaussianVAE
from .layers import train_mixed
from .likelihoods import LIKELIHOODS, BernoulliLikelihood, GaussianLikelihood, Likelihood
from .loading import VAES, load_pretrained
from .mixture import GivenStyle, MixtureDecoder, MixtureEncoder, MixtureVAE
from .own_networks import FastPaths, NetworkDecoder, NetworkEncoder, StatesOfNetwork
from .potentials import AnyPotentials, CategoricalPotentials, LatentSpace, Potentials
from .pretrained import Figure, ModelCard, Pretrained
from .prior import PRIORS, BitsPrior, CategoriesPrior, Prior, factorised_prior, gibbs_prior
from .states import (
    MOST_BITS,
    all_labels,
    all_states,
    codes_of,
    drawn_places,
    label_index,
    of_variables,
    single_changes,
    single_flips,
    state_index,
)

__all__ = [
    "ENCODERS",
    "LIKELIHOODS",
    "MOST_BITS",
    "PRIORS",
    "VAES",
    "AnyPotentials",
    "AttributeDecoder",
    "AttributeEncoder",
    "AttributeVAE",
    "BernoulliLikelihood",
    "BinaryDecoder",
    "BitsPrior",
    "CategoricalDecoder",
    "CategoricalEncoder",
    "CategoricalPotentials",
    "CategoriesPrior",
    "ConvolutionalDecoder",
    "ConvolutionalEncoder",
    "DecodedStates",
    "Decoder",
    "DiscreteVAE",
    "Encoder",
    "FastPaths",
    "Figure",
    "Flips",
    "Gaussian",
    "GaussianLikelihood",
    "GaussianVAE",
    "GivenCode",
    "GivenStyle",
    "LatentSpace",
    "Likelihood",
    "MixtureDecoder",
    "MixtureEncoder",
    "MixtureVAE",
    "ModelCard",
    "ModelsError",
    "Neighbourhood",
    "NetworkDecoder",
    "NetworkEncoder",
    "NetworkError",
    "Potentials",
    "Pretrained",
    "PretrainedError",
    "Prior",
    "SettingError",
    "StatesOfNetwork",
    "all_labels",
    "all_states",
    "codes_of",
    "convolutional_vae",
    "drawn_places",
    "factorised_prior",
    "general_encoder",
    "gibbs_prior",
    "independent_encoder",
    "label_index",
    "load_pretrained",
    "of_variables",
    "paper_vae",
    "single_changes",
    "single_flips",
    "state_index",
    "supermodular_encoder",
    "train_mixed",
]
