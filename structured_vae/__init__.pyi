from .data import ImageDataset, load_dataset
from .errors import ConfigError, DataError, DivergedError, EstimatorError, RunError, StructuredVAEError
from .estimators import (
    ARM,
    REBAR,
    RELAX,
    Adaptive,
    Direct,
    DisARM,
    Epsilon,
    Estimate,
    Estimator,
    Exact,
    GumbelSoftmax,
    ImplicitMLE,
    MaximumLikelihood,
    PerturbedArgmax,
    ScaleFree,
    Scheduled,
    ScoreFunction,
    StraightThrough,
    TableDirect,
)
from .evaluation.bound import Bound, evaluate_bound
from .evaluation.discrete import evaluate
from .evaluation.gradients import GradientReport, gradient_report
from .evaluation.quantities import Evaluation, Quantity
from .layer import ArgmaxLayer
from .objectives.costs import Cost, CostOfBits, CostOfCategories, Hamming, Reconstruction, WithKL
from .objectives.recipes import RECIPES, Objective, elbo_recipe, paper_recipe
from .posteriors import Gibbs, PerturbAndMAP, Posterior
from .posteriors.argmax import argmax, perturb_and_map
from .posteriors.kl import KL, kl_ceiling, kl_of_unary
from .posteriors.noise import Noise, gumbel, gumbel_differences, no_noise, unary_noise
from .runs.config import DataConfig, TrainConfig
from .runs.export import export_run
from .runs.folder import Run
from .runs.networks import load_vae
from .runs.train import resume, train
from .schedules import Constant, CosineDecay, ExponentialDecay, Ramp, Schedule

__all__ = [
    "ARM",
    "KL",
    "REBAR",
    "RECIPES",
    "RELAX",
    "Adaptive",
    "ArgmaxLayer",
    "Bound",
    "ConfigError",
    "Constant",
    "CosineDecay",
    "Cost",
    "CostOfBits",
    "CostOfCategories",
    "DataConfig",
    "DataError",
    "Direct",
    "DisARM",
    "DivergedError",
    "Epsilon",
    "Estimate",
    "Estimator",
    "EstimatorError",
    "Evaluation",
    "Exact",
    "ExponentialDecay",
    "Gibbs",
    "GradientReport",
    "GumbelSoftmax",
    "Hamming",
    "ImageDataset",
    "ImplicitMLE",
    "MaximumLikelihood",
    "Noise",
    "Objective",
    "PerturbAndMAP",
    "PerturbedArgmax",
    "Posterior",
    "Quantity",
    "Ramp",
    "Reconstruction",
    "Run",
    "RunError",
    "ScaleFree",
    "Schedule",
    "Scheduled",
    "ScoreFunction",
    "StraightThrough",
    "StructuredVAEError",
    "TableDirect",
    "TrainConfig",
    "WithKL",
    "argmax",
    "elbo_recipe",
    "evaluate",
    "evaluate_bound",
    "export_run",
    "gradient_report",
    "gumbel",
    "gumbel_differences",
    "kl_ceiling",
    "kl_of_unary",
    "load_dataset",
    "load_vae",
    "no_noise",
    "paper_recipe",
    "perturb_and_map",
    "resume",
    "train",
    "unary_noise",
]
