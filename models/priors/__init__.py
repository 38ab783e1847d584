"""The priors p(z) over latent variables that are learnt with the networks."""

from .autoregressive import AutoregressivePrior
from .causal import MADE, CausalLinear, CausalNetwork, CausalTransformer
from .density import DensityPrior
from .density_mixture import MixturePrior
from .flow import FlowPrior, gaussian_network
from .gibbs import BitsPrior, CategoriesPrior, GibbsPrior, factorised_prior, gibbs_prior
from .named import PRIORS, States, named_prior
from .named_densities import DENSITY_PRIORS, named_density
from .options import PriorOptions
from .prior import LearntPrior, Prior

__all__ = [
    "DENSITY_PRIORS",
    "MADE",
    "PRIORS",
    "AutoregressivePrior",
    "BitsPrior",
    "CategoriesPrior",
    "CausalLinear",
    "CausalNetwork",
    "CausalTransformer",
    "DensityPrior",
    "FlowPrior",
    "GibbsPrior",
    "LearntPrior",
    "MixturePrior",
    "Prior",
    "PriorOptions",
    "States",
    "factorised_prior",
    "gaussian_network",
    "gibbs_prior",
    "named_density",
    "named_prior",
]
