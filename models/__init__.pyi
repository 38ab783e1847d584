from .errors import ModelsError
from .loading import load_pretrained
from .networks.layers import train_mixed
from .potentials import CategoricalPotentials, Potentials
from .pretrained import Figure, ModelCard, Pretrained
from .priors import AutoregressivePrior, factorised_prior, gibbs_prior
from .vaes.attributes import AttributeVAE
from .vaes.convolutional import convolutional_vae
from .vaes.discrete import DiscreteVAE, paper_vae
from .vaes.gaussian_vae import GaussianVAE
from .vaes.mixture import MixtureVAE
from .vaes.quantised import QuantisedVAE, quantised_vae

__all__ = [
    "AttributeVAE",
    "AutoregressivePrior",
    "CategoricalPotentials",
    "DiscreteVAE",
    "Figure",
    "GaussianVAE",
    "MixtureVAE",
    "ModelCard",
    "ModelsError",
    "Potentials",
    "Pretrained",
    "QuantisedVAE",
    "convolutional_vae",
    "factorised_prior",
    "gibbs_prior",
    "load_pretrained",
    "paper_vae",
    "quantised_vae",
    "train_mixed",
]
