"""The priors p(z) over latent states that are learnt with the networks."""

from .autoregressive import AutoregressivePrior
from .causal import MADE, CausalLinear, CausalNetwork, CausalTransformer
from .gibbs import BitsPrior, CategoriesPrior, GibbsPrior, factorised_prior, gibbs_prior
from .named import PRIORS, States, named_prior
from .prior import Prior

__all__ = [
    "MADE",
    "PRIORS",
    "AutoregressivePrior",
    "BitsPrior",
    "CategoriesPrior",
    "CausalLinear",
    "CausalNetwork",
    "CausalTransformer",
    "GibbsPrior",
    "Prior",
    "States",
    "factorised_prior",
    "gibbs_prior",
    "named_prior",
]
