from .bit_completions import Completions
from .bits import Gibbs
from .estimate import GibbsEstimate

__all__ = [
    "Completions",
    "Gibbs",
    "GibbsEstimate",
]
