"""What the options of all kinds share: the options that every training has, and groups that some have.

The configuration of a kind lies in its own folder and derives from these. Loads no torch.
"""

from .data import DataConfig
from .gradient import FROM_PYTHON, GIBBS, EpsilonConfig, EstimatorConfig, SolverConfig
from .labels import LabelConfig
from .older import OLDER
from .recipe import KLConfig, RecipeConfig
from .train_config import Decay, TrainConfig
from .values import at_least, known

__all__ = [
    "FROM_PYTHON",
    "GIBBS",
    "OLDER",
    "DataConfig",
    "Decay",
    "EpsilonConfig",
    "EstimatorConfig",
    "KLConfig",
    "LabelConfig",
    "RecipeConfig",
    "SolverConfig",
    "TrainConfig",
    "at_least",
    "known",
]
