"""Estimators by the names that a configuration gives them: ours, and those that packages plug in.

Loads no torch: the class of a name is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from ..errors import EstimatorError, shortened

if TYPE_CHECKING:
    from .estimator import Estimator

GROUP: Final = "structured_vae.estimators"
"""The group of entry points by which other packages plug estimators in."""

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


class Estimators(Mapping[str, "type[Estimator]"]):
    """The classes of estimators by name, each imported when it is asked for.

    Example:
        >>> "arm" in ESTIMATORS, "amr" in ESTIMATORS
        (True, False)
        >>> ESTIMATORS["score_function"].usual_samples
        4
    """

    def __getitem__(self, name: str) -> type[Estimator]:
        """Return the class of a name, imported now.

        Raises:
            EstimatorError: a plug-in cannot be imported, or is no estimator.
            KeyError: no estimator has that name.
        """
        if name in BUILT_IN:
            module, _, attribute = BUILT_IN[name].partition(":")
            estimator: type[Estimator] = getattr(
                import_module(f"{__package__}.{module}"), attribute
            )
            return estimator
        return _loaded(_plug_ins()[name])

    def __contains__(self, name: object) -> bool:
        """Return whether an estimator has that name, without importing it."""
        return name in BUILT_IN or name in _plug_ins()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, those of this package first."""
        yield from BUILT_IN
        yield from _plug_ins()

    def __len__(self) -> int:
        """Return the number of names."""
        return len(BUILT_IN) + len(_plug_ins())


ESTIMATORS: Final = Estimators()
"""All estimators that are installed."""


def estimator_class(name: str) -> type[Estimator]:
    """Return the class of estimators that a name stands for.

    Raises:
        EstimatorError: no estimator has that name, and the message suggests the nearest; or a
            plug-in cannot be imported, or is no estimator.

    Example:
        >>> estimator_class("disarm").__name__
        'DisARM'
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    near = get_close_matches(str(name), ESTIMATORS, n=1)
    hint = ""
    if near:
        hint = f"did you mean {near[0]}? "
    raise EstimatorError(
        f"no estimator is called {shortened(name)}; {hint}There are: {', '.join(ESTIMATORS)}"
    )


def _plug_ins() -> dict[str, EntryPoint]:
    """Return the entry points of other packages by name; ours come first where names clash."""
    points = entry_points(group=GROUP)
    return {point.name: point for point in points if point.name not in BUILT_IN}


def _loaded(point: EntryPoint) -> type[Estimator]:
    """Return the class of an entry point.

    Raises:
        EstimatorError: it cannot be imported, or is no estimator.
    """
    plug_in = f"the plug-in estimator {point.name} ({point.value})"
    try:
        loaded = point.load()
    except (ImportError, AttributeError) as error:
        raise EstimatorError(f"{plug_in} cannot be imported: {error}") from error
    base: type[Estimator] = import_module(f"{__package__}.estimator").Estimator
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise EstimatorError(f"{plug_in} must be a class that derives from Estimator")
    return loaded
