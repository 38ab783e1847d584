from .autoregressive import Autoregressive
from .distribution import DensityDistribution, Distribution
from .gibbs import Gibbs
from .perturb_and_map import PerturbAndMAP, histogram_kl
from .registry import POSTERIORS
from .sequential import SequentialBits

__all__ = [
    "POSTERIORS",
    "Autoregressive",
    "DensityDistribution",
    "Distribution",
    "Gibbs",
    "PerturbAndMAP",
    "SequentialBits",
    "histogram_kl",
]
