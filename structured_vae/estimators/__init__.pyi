from .antithetic import ARM, DisARM
from .control_variates import REBAR, RELAX
from .direct import Direct
from .epsilon import Adaptive, Epsilon, Relative, ScaleFree, Scheduled
from .estimator import Estimate, Estimator, KLTerm
from .exact import Exact, MaximumLikelihood
from .gapped_straight_through import GappedStraightThrough
from .gumbel_rao import GumbelRao
from .gumbel_softmax import GumbelSoftmax, StraightThrough
from .implicit_mle import AdaptiveImplicitMLE, ImplicitMLE
from .perturbed_argmax import PerturbedArgmax
from .ram import RAM
from .reinmax import ReinMax, ReinMaxCV, ReinMaxRao
from .score_function import ScoreFunction
from .sparse_map import SparseMAP
from .stochastic_softmax import StochasticSoftmax, StochasticStraightThrough
from .table_direct import TableDirect

__all__ = [
    "ARM",
    "RAM",
    "REBAR",
    "RELAX",
    "Adaptive",
    "AdaptiveImplicitMLE",
    "Direct",
    "DisARM",
    "Epsilon",
    "Estimate",
    "Estimator",
    "Exact",
    "GappedStraightThrough",
    "GumbelRao",
    "GumbelSoftmax",
    "ImplicitMLE",
    "KLTerm",
    "MaximumLikelihood",
    "PerturbedArgmax",
    "ReinMax",
    "ReinMaxCV",
    "ReinMaxRao",
    "Relative",
    "ScaleFree",
    "Scheduled",
    "ScoreFunction",
    "SparseMAP",
    "StochasticSoftmax",
    "StochasticStraightThrough",
    "StraightThrough",
    "TableDirect",
]
