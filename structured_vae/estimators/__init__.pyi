from .antithetic.arm import ARM, DisARM
from .antithetic.arms import ARMS
from .antithetic.carms import CARMS
from .argmax.direct import Direct
from .argmax.epsilon import Adaptive, Epsilon, Relative, ScaleFree, Scheduled
from .argmax.implicit_mle import AdaptiveImplicitMLE, ImplicitMLE
from .argmax.perturbed_argmax import PerturbedArgmax
from .argmax.table_direct import TableDirect
from .estimator import Estimate, Estimator, KLTerm
from .exact import Exact, MaximumLikelihood
from .importance.local_disarm import LocalDisARM
from .importance.multi_sample import OVIS, VIMCO
from .importance.wake_sleep import ReweightedWakeSleep, WakeSleep, WakeWake
from .options import EstimatorOptions
from .ram import RAM
from .registry import ESTIMATORS, estimator_class
from .relaxed.gapped_straight_through import GappedStraightThrough
from .relaxed.gumbel_rao import GumbelRao
from .relaxed.gumbel_softmax import GumbelSoftmax, StraightThrough
from .relaxed.reinmax import ReinMax, ReinMaxCV, ReinMaxRao
from .relaxed.sparse_map import SparseMAP
from .relaxed.stochastic_softmax import StochasticSoftmax, StochasticStraightThrough
from .score.control_variates import REBAR, RELAX
from .score.double_control_variates import DoubleControlVariates
from .score.muprop import MuProp
from .score.nvil import NVIL
from .score.rodeo import RODEO
from .score.score_function import ScoreFunction
from .score.unordered_set import UnorderedSet

__all__ = [
    "ARM",
    "ARMS",
    "CARMS",
    "ESTIMATORS",
    "NVIL",
    "OVIS",
    "RAM",
    "REBAR",
    "RELAX",
    "RODEO",
    "VIMCO",
    "Adaptive",
    "AdaptiveImplicitMLE",
    "Direct",
    "DisARM",
    "DoubleControlVariates",
    "Epsilon",
    "Estimate",
    "Estimator",
    "EstimatorOptions",
    "Exact",
    "GappedStraightThrough",
    "GumbelRao",
    "GumbelSoftmax",
    "ImplicitMLE",
    "KLTerm",
    "LocalDisARM",
    "MaximumLikelihood",
    "MuProp",
    "PerturbedArgmax",
    "ReinMax",
    "ReinMaxCV",
    "ReinMaxRao",
    "Relative",
    "ReweightedWakeSleep",
    "ScaleFree",
    "Scheduled",
    "ScoreFunction",
    "SparseMAP",
    "StochasticSoftmax",
    "StochasticStraightThrough",
    "StraightThrough",
    "TableDirect",
    "UnorderedSet",
    "WakeSleep",
    "WakeWake",
    "estimator_class",
]
