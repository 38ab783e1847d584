"""Distributions over latent states: samples, KL terms, and the argmax of perturb-and-MAP.

Stands on `models`, `solvers` and `spaces`; objectives and all above may import it.
"""

from .autoregressive import Autoregressive
from .distribution import Distribution
from .gibbs import Gibbs
from .perturb_and_map import PerturbAndMAP, histogram_kl

__all__ = ["Autoregressive", "Distribution", "Gibbs", "PerturbAndMAP", "histogram_kl"]
