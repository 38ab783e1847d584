from .crfs import LinearChainCRF, PairwiseCRF, TagRules, tag_rules
from .data import load_dataset
from .distributions import Gibbs, PerturbAndMAP
from .distributions.argmax import perturb_and_map
from .errors import ConfigError, StructuredVAEError
from .estimators import (
    ARM,
    OVIS,
    RAM,
    REBAR,
    RELAX,
    VIMCO,
    Direct,
    DisARM,
    Estimate,
    Estimator,
    Exact,
    GumbelSoftmax,
    ImplicitMLE,
    MaximumLikelihood,
    Relative,
    ScaleFree,
    ScoreFunction,
    StraightThrough,
)
from .evaluation.gradients import gradient_report
from .layer import ArgmaxLayer, routing_weights
from .losses import (
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    PerturbedFenchelYoung,
    StructuredHinge,
    StructuredPerceptron,
)
from .objectives.costs import CostOfBits, Hamming, Reconstruction
from .objectives.recipes import elbo_recipe
from .runs.evaluate import evaluate_run
from .runs.export import export_run
from .runs.networks import load_vae
from .runs.resume import resume
from .runs.train import train
from .schedules import Constant, ExponentialDecay
from .spaces import (
    Arborescences,
    Assignments,
    Knapsack,
    KOfN,
    Matchings,
    Paths,
    SecondOrderChains,
    Segments,
    SpanningTrees,
    StateSpace,
    grid_paths,
)
from .vaes.config import DataConfig, TrainConfig
from .vaes.discrete.evaluation import evaluate

__all__ = [
    "ARM",
    "OVIS",
    "RAM",
    "REBAR",
    "RELAX",
    "VIMCO",
    "Arborescences",
    "ArgmaxLayer",
    "Assignments",
    "ConfigError",
    "Constant",
    "CostOfBits",
    "DataConfig",
    "Direct",
    "DirectLoss",
    "DisARM",
    "Estimate",
    "Estimator",
    "Exact",
    "ExponentialDecay",
    "Gibbs",
    "GibbsLikelihood",
    "GumbelSoftmax",
    "Hamming",
    "ImplicitMLE",
    "ImplicitMLELoss",
    "KOfN",
    "Knapsack",
    "LinearChainCRF",
    "Matchings",
    "MaximumLikelihood",
    "PairwiseCRF",
    "Paths",
    "PerturbAndMAP",
    "PerturbedFenchelYoung",
    "Reconstruction",
    "Relative",
    "ScaleFree",
    "ScoreFunction",
    "SecondOrderChains",
    "Segments",
    "SpanningTrees",
    "StateSpace",
    "StraightThrough",
    "StructuredHinge",
    "StructuredPerceptron",
    "StructuredVAEError",
    "TagRules",
    "TrainConfig",
    "elbo_recipe",
    "evaluate",
    "evaluate_run",
    "export_run",
    "gradient_report",
    "grid_paths",
    "load_dataset",
    "load_vae",
    "perturb_and_map",
    "resume",
    "routing_weights",
    "tag_rules",
    "train",
]
