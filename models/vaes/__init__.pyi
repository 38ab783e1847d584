from .attributes import AttributeVAE
from .discrete import DiscreteVAE, paper_vae
from .gaussian_vae import GaussianVAE
from .mixture import MixtureVAE
from .quantised import QuantisedVAE, quantised_vae

__all__ = [
    "AttributeVAE",
    "DiscreteVAE",
    "GaussianVAE",
    "MixtureVAE",
    "QuantisedVAE",
    "paper_vae",
    "quantised_vae",
]
