"""Estimators by the names that a configuration gives them: ours, and those that packages plug in.

Loads no torch: the class of a name is imported when it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from models.named_classes import NamedClasses

from ..errors import EstimatorError

if TYPE_CHECKING:
    from .estimator import Estimator

BUILT_IN: Final = {
    "direct": "argmax.direct:Direct",
    "table_direct": "argmax.table_direct:TableDirect",
    "exact": "exact:Exact",
    "maximum_likelihood": "exact:MaximumLikelihood",
    "score_function": "score.score_function:ScoreFunction",
    "nvil": "score.nvil:NVIL",
    "muprop": "score.muprop:MuProp",
    "double_cv": "score.double_control_variates:DoubleControlVariates",
    "rodeo": "score.rodeo:RODEO",
    "unordered_set": "score.unordered_set:UnorderedSet",
    "gumbel_softmax": "relaxed.gumbel_softmax:GumbelSoftmax",
    "straight_through": "relaxed.gumbel_softmax:StraightThrough",
    "gumbel_rao": "relaxed.gumbel_rao:GumbelRao",
    "gapped_straight_through": "relaxed.gapped_straight_through:GappedStraightThrough",
    "reinmax": "relaxed.reinmax:ReinMax",
    "reinmax_rao": "relaxed.reinmax:ReinMaxRao",
    "reinmax_cv": "relaxed.reinmax:ReinMaxCV",
    "rebar": "score.control_variates:REBAR",
    "relax": "score.control_variates:RELAX",
    "arm": "antithetic.arm:ARM",
    "disarm": "antithetic.arm:DisARM",
    "arms": "antithetic.arms:ARMS",
    "carms": "antithetic.carms:CARMS",
    "ram": "ram:RAM",
    "implicit_mle": "argmax.implicit_mle:ImplicitMLE",
    "adaptive_implicit_mle": "argmax.implicit_mle:AdaptiveImplicitMLE",
    "perturbed_argmax": "argmax.perturbed_argmax:PerturbedArgmax",
    "stochastic_softmax": "relaxed.stochastic_softmax:StochasticSoftmax",
    "stochastic_straight_through": "relaxed.stochastic_softmax:StochasticStraightThrough",
    "sparse_map": "relaxed.sparse_map:SparseMAP",
    "vimco": "importance.multi_sample:VIMCO",
    "ovis": "importance.multi_sample:OVIS",
    "local_disarm": "importance.local_disarm:LocalDisARM",
    "wake_wake": "importance.wake_sleep:WakeWake",
    "wake_sleep": "importance.wake_sleep:WakeSleep",
    "reweighted_wake_sleep": "importance.wake_sleep:ReweightedWakeSleep",
}
"""Module of this folder and class in it, by name. A new estimator is a file and a line here."""


ESTIMATORS: Final[NamedClasses[Estimator]] = NamedClasses(
    noun="estimator",
    folder="structured_vae.estimators",
    built_in=BUILT_IN,
    group="structured_vae.estimators",
    base="estimator:Estimator",
    error=EstimatorError,
)
"""All installed estimators.

Example:
    >>> "arm" in ESTIMATORS, "amr" in ESTIMATORS
    (True, False)
    >>> ESTIMATORS["score_function"].usual_samples
    4
"""


def estimator_class(name: str) -> type[Estimator]:
    """Return the class of estimators that a name stands for.

    Raises:
        EstimatorError: no estimator has that name, and the message suggests the nearest; or a
            plug-in cannot be imported, or is no estimator.

    Example:
        >>> estimator_class("disarm").__name__
        'DisARM'
    """
    return ESTIMATORS.named(name)
