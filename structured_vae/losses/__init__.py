"""Losses of structured prediction: from scores and a target state to a loss for each instance.

The losses only need argmaxes of the scores with shifted unary scores, from a solver or a
`Structure`; the likelihood needs sums over states. In their formulas
h(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j is the score, s(z) are the sufficient
statistics `z_i` and `z_i z_j`, and y is the target.
"""

# A file for each loss. This folder imports `ArgmaxLayer` and what lies below it, but no CRFs.

from .direct import DirectLoss
from .distances import distance_slope, squared_differences
from .fenchel_young import PerturbedFenchelYoung
from .hinge import StructuredHinge
from .implicit_mle import ImplicitMLELoss, LossOfStates
from .likelihood import GibbsLikelihood
from .perceptron import StructuredPerceptron
from .structured_loss import StructuredLoss

__all__ = [
    "DirectLoss",
    "GibbsLikelihood",
    "ImplicitMLELoss",
    "LossOfStates",
    "PerturbedFenchelYoung",
    "StructuredHinge",
    "StructuredLoss",
    "StructuredPerceptron",
    "distance_slope",
    "squared_differences",
]
