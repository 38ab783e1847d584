"""Base of estimators that use argmaxes of perturbed scores, from a solver or a space."""

from __future__ import annotations

from abc import ABC

from ...distributions import DensityDistribution, PerturbAndMAP
from ..estimator import Estimator


class ByArgmax(Estimator, ABC):
    """An estimator whose samples are argmaxes, by a solver or over a space."""

    distribution: type[DensityDistribution] | type[PerturbAndMAP] = PerturbAndMAP
    untransformable = "asks a solver for argmaxes"
    outside = "call ArgmaxLayer or a loss there, without a cost"
