"""Distributions over latent states: samples, KL terms, and the argmax of perturb-and-MAP.

Stands on `models`, `solvers` and `spaces`; objectives and all above may import it.
"""

from collections.abc import Mapping
from typing import Final

from .autoregressive import Autoregressive
from .distribution import DensityDistribution, Distribution
from .gibbs import Gibbs
from .perturb_and_map import PerturbAndMAP, histogram_kl

__all__ = [
    "POSTERIORS",
    "Autoregressive",
    "DensityDistribution",
    "Distribution",
    "Gibbs",
    "PerturbAndMAP",
    "histogram_kl",
]

POSTERIORS: Final[Mapping[str, type[DensityDistribution]]] = {
    "gibbs": Gibbs,
    "autoregressive": Autoregressive,
}
"""The classes of posteriors that a configuration names."""
