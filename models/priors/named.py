"""The priors by the names that configurations and stored models give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..errors import SettingError
from .autoregressive import AutoregressivePrior
from .causal import MADE, CausalLinear, CausalTransformer
from .gibbs import CategoriesPrior, factorised_prior, gibbs_prior
from .options import PriorOptions
from .prior import Prior


@dataclass(frozen=True)
class States:
    """The latent states that a prior is over.

    Attributes:
        variables: number of variables; n for bits.
        values: number of values of each; 0 for bits.
    """

    variables: int
    values: int = 0

    @property
    def width(self) -> int:
        """The number of entries of a variable in a state."""
        return self.values or 1


def _factorised(states: States, options: PriorOptions) -> Prior:
    if not states.values:
        return factorised_prior(states.variables)
    if states.variables > 1:
        raise SettingError(
            f"the prior factorised takes one variable of categories, and there are "
            f"{states.variables}: take an autoregressive one, such as linear"
        )
    return CategoriesPrior(states.values)


def _gibbs(states: States, options: PriorOptions) -> Prior:
    if states.values:
        raise SettingError(
            "the prior gibbs needs bits, and there are categories: take factorised, linear, made "
            "or transformer"
        )
    return gibbs_prior(states.variables)


def _linear(states: States, options: PriorOptions) -> Prior:
    if options.sizes:
        raise SettingError("the prior linear has no hidden layers: leave their sizes out")
    return _autoregressive(CausalLinear(states.variables, states.width), states, options)


def _made(states: States, options: PriorOptions) -> Prior:
    network = MADE(states.variables, states.width, **options.sizes)
    return _autoregressive(network, states, options)


def _transformer(states: States, options: PriorOptions) -> Prior:
    heads = CausalTransformer.HEADS
    if options.hidden % heads:
        raise SettingError(
            f"the vectors of a transformer need a multiple of {heads} entries, one part for each "
            f"head; got {options.hidden}"
        )
    network = CausalTransformer(states.variables, states.width, **options.sizes)
    return _autoregressive(network, states, options)


def _autoregressive(
    network: CausalLinear | MADE | CausalTransformer, states: States, options: PriorOptions
) -> Prior:
    prior = AutoregressivePrior(network, options.name, categorical=bool(states.values))
    prior.options = options.stored_sizes
    return prior


PRIORS: Final[dict[str, Callable[[States, PriorOptions], Prior] | None]] = {
    "uniform": None,
    "factorised": _factorised,
    "gibbs": _gibbs,
    "linear": _linear,
    "made": _made,
    "transformer": _transformer,
}
"""The function that makes each prior, by name; None for the uniform prior."""


def named_prior(prior: str | PriorOptions, states: States) -> Prior | None:
    """Return a prior of `PRIORS` over these states, initially uniform; None for the uniform prior.

    Args:
        prior: its name, or the name with the sizes of its network.
        states: the latent states.

    Raises:
        SettingError: no prior has this name, or the prior does not support these states.

    Example:
        >>> named_prior(PriorOptions("made", hidden=8), States(variables=3)).arguments
        {'prior': 'made', 'prior_hidden': 8}
    """
    options = PriorOptions.of(prior)
    if not isinstance(options.name, str) or options.name not in PRIORS:
        raise SettingError(f"no prior is called {options.name!r}; there are: {', '.join(PRIORS)}")
    make = PRIORS[options.name]
    if make is None:
        return None
    return make(states, options)
