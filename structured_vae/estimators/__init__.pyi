from .antithetic import ARM, DisARM
from .arms import ARMS
from .carms import CARMS
from .control_variates import REBAR, RELAX
from .direct import Direct
from .double_control_variates import DoubleControlVariates
from .epsilon import Adaptive, Epsilon, Relative, ScaleFree, Scheduled
from .estimator import Estimate, Estimator, KLTerm
from .exact import Exact, MaximumLikelihood
from .gapped_straight_through import GappedStraightThrough
from .gumbel_rao import GumbelRao
from .gumbel_softmax import GumbelSoftmax, StraightThrough
from .implicit_mle import AdaptiveImplicitMLE, ImplicitMLE
from .local_disarm import LocalDisARM
from .multi_sample import OVIS, VIMCO
from .muprop import MuProp
from .nvil import NVIL
from .perturbed_argmax import PerturbedArgmax
from .ram import RAM
from .reinmax import ReinMax, ReinMaxCV, ReinMaxRao
from .rodeo import RODEO
from .score_function import ScoreFunction
from .sparse_map import SparseMAP
from .stochastic_softmax import StochasticSoftmax, StochasticStraightThrough
from .table_direct import TableDirect
from .unordered_set import UnorderedSet
from .wake_sleep import ReweightedWakeSleep, WakeSleep, WakeWake

__all__ = [
    "ARM",
    "ARMS",
    "CARMS",
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
]
