from .errors import ModelsError
from .loading import load_pretrained
from .potentials import CategoricalPotentials, Potentials
from .pretrained import ModelCard, Pretrained
from .priors import gibbs_prior
from .vaes.attributes import AttributeVAE
from .vaes.convolutional import convolutional_vae
from .vaes.discrete import DiscreteVAE, paper_vae
from .vaes.mixture import MixtureVAE
from .vaes.quantised import quantised_vae

__all__ = [
    "AttributeVAE",
    "CategoricalPotentials",
    "DiscreteVAE",
    "MixtureVAE",
    "ModelCard",
    "ModelsError",
    "Potentials",
    "Pretrained",
    "convolutional_vae",
    "gibbs_prior",
    "load_pretrained",
    "paper_vae",
    "quantised_vae",
]
