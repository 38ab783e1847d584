"""Distributions over latent states: samples, KL terms, and the argmax that perturb-and-MAP is made of.

Stands on `models`, `solvers` and the small files of the root; objectives and all above may import
it.
"""

from .gibbs import Gibbs
from .perturb_and_map import PerturbAndMAP, histogram_kl
from .posterior import Posterior

__all__ = ["Gibbs", "PerturbAndMAP", "Posterior", "histogram_kl"]
