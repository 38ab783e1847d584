"""Options that every training has, and groups of options that several kinds of model have.

The configuration class of each kind is in the folder of the kind and derives from these classes.
This package does not load torch.
"""

from .data import DataConfig
from .encoder import EncoderConfig
from .gradient import FROM_PYTHON, GIBBS, EpsilonConfig, EstimatorConfig, SolverConfig
from .labels import LabelConfig
from .older import OLDER
from .recipe import KLConfig, RecipeConfig
from .train_config import Decay, TrainConfig
from .values import at_least, faults_of_prior_sizes, known

__all__ = [
    "FROM_PYTHON",
    "GIBBS",
    "OLDER",
    "DataConfig",
    "Decay",
    "EncoderConfig",
    "EpsilonConfig",
    "EstimatorConfig",
    "KLConfig",
    "LabelConfig",
    "RecipeConfig",
    "SolverConfig",
    "TrainConfig",
    "at_least",
    "faults_of_prior_sizes",
    "known",
]
