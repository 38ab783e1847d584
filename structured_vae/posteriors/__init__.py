"""Distributions over latent states, and what is known of them."""

from .gibbs import Gibbs
from .perturb_and_map import PerturbAndMAP, histogram_kl
from .posterior import Posterior

__all__ = ["Gibbs", "PerturbAndMAP", "Posterior", "histogram_kl"]
