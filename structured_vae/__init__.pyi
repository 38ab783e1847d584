from .crfs import LinearChainCRF, PairwiseCRF
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
    LocalDisARM,
    MaximumLikelihood,
    PerturbedArgmax,
    Relative,
    ReweightedWakeSleep,
    ScaleFree,
    ScoreFunction,
    StraightThrough,
    TableDirect,
    WakeSleep,
    WakeWake,
)
from .evaluation.gradients import gradient_report
from .layer import ArgmaxLayer
from .losses import (
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    PerturbedFenchelYoung,
    StructuredHinge,
    StructuredPerceptron,
)
from .objectives.costs import CostOfBits, Hamming, Reconstruction
from .objectives.recipes import elbo_recipe, paper_recipe
from .runs.evaluate import evaluate_run
from .runs.export import export_run
from .runs.folder import Run
from .runs.networks import load_vae
from .runs.resume import resume
from .runs.train import train
from .schedules import Constant, ExponentialDecay
from .spaces import (
    Arborescences,
    Assignments,
    Bits,
    Categories,
    Knapsack,
    KOfN,
    Matchings,
    PairwiseLabels,
    Paths,
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
    "Bits",
    "Categories",
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
    "LocalDisARM",
    "Matchings",
    "MaximumLikelihood",
    "PairwiseCRF",
    "PairwiseLabels",
    "Paths",
    "PerturbAndMAP",
    "PerturbedArgmax",
    "PerturbedFenchelYoung",
    "Reconstruction",
    "Relative",
    "ReweightedWakeSleep",
    "Run",
    "ScaleFree",
    "ScoreFunction",
    "SpanningTrees",
    "StateSpace",
    "StraightThrough",
    "StructuredHinge",
    "StructuredPerceptron",
    "StructuredVAEError",
    "TableDirect",
    "TrainConfig",
    "WakeSleep",
    "WakeWake",
    "elbo_recipe",
    "evaluate",
    "evaluate_run",
    "export_run",
    "gradient_report",
    "grid_paths",
    "load_dataset",
    "load_vae",
    "paper_recipe",
    "perturb_and_map",
    "resume",
    "train",
]
