from .config import DataConfig, TrainConfig
from .costs import Cost, Reconstruction, WithKL
from .data import ImageDataset, load_dataset
from .direct import Direct, Estimate
from .errors import ConfigError, DataError, RunError, StructuredVAEError
from .evaluation import Bound, evaluate_bound
from .kl import KL, kl_ceiling, kl_of_unary, tightest_valid_kl
from .noise import gumbel_differences
from .recipes import RECIPES, elbo_recipe, paper_recipe
from .runs import Run, load_vae
from .sampling import argmax, perturb_and_map
from .schedules import ExponentialDecay, Schedule
from .training import resume, train

__all__ = [
    "KL",
    "RECIPES",
    "Bound",
    "ConfigError",
    "Cost",
    "DataConfig",
    "DataError",
    "Direct",
    "Estimate",
    "ExponentialDecay",
    "ImageDataset",
    "Reconstruction",
    "Run",
    "RunError",
    "Schedule",
    "StructuredVAEError",
    "TrainConfig",
    "WithKL",
    "argmax",
    "elbo_recipe",
    "evaluate_bound",
    "gumbel_differences",
    "kl_ceiling",
    "kl_of_unary",
    "load_dataset",
    "load_vae",
    "paper_recipe",
    "perturb_and_map",
    "resume",
    "tightest_valid_kl",
    "train",
]
