from .antithetic import ARM, DisARM
from .control_variates import REBAR, RELAX
from .direct import Direct
from .epsilon import Adaptive, Epsilon, Relative, ScaleFree, Scheduled
from .estimator import Estimate, Estimator, KLTerm
from .exact import Exact, MaximumLikelihood
from .gumbel_softmax import GumbelSoftmax, StraightThrough
from .implicit_mle import ImplicitMLE
from .perturbed_argmax import PerturbedArgmax
from .ram import RAM
from .score_function import ScoreFunction
from .table_direct import TableDirect

__all__ = [
    "ARM",
    "RAM",
    "REBAR",
    "RELAX",
    "Adaptive",
    "Direct",
    "DisARM",
    "Epsilon",
    "Estimate",
    "Estimator",
    "Exact",
    "GumbelSoftmax",
    "ImplicitMLE",
    "KLTerm",
    "MaximumLikelihood",
    "PerturbedArgmax",
    "Relative",
    "ScaleFree",
    "Scheduled",
    "ScoreFunction",
    "StraightThrough",
    "TableDirect",
]
